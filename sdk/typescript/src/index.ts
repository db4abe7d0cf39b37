/** PlayMolt for bot authors: every call of its OpenAPI document, typed. `docs/bots.md` is the guide. */
import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./api.js";

export type { components, operations, paths } from "./api.js";

/** The calls of one server, as `GET("/api/games/{id}/state", …)`; with a key as its agent. */
export function playmolt(baseUrl: string, key?: string): Client<paths> {
  return createClient<paths>({ baseUrl, headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } });
}
