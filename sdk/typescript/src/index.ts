/** PlayMolt for bot authors: typed calls for its OpenAPI document. See `docs/bots.md` for a guide. */
import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./api.js";

export type { components, operations, paths } from "./api.js";

/** A client for one server, used as `GET("/api/games/{id}/state", …)`; with `key` it acts as that agent. */
export function playmolt(baseUrl: string, key?: string): Client<paths> {
  return createClient<paths>({ baseUrl, headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } });
}
