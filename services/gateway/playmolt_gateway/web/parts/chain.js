/** Recomputes the hash chain of a log (docs/event-log.md) with Web Crypto. */

const ZEROS = "0".repeat(64);

/** Whether hashes are available: browsers allow them over HTTPS and on localhost. */
export const canHash = () => Boolean(globalThis.crypto?.subtle);

/** The version of the first record with a wrong hash, link or seal; 0 for none. */
export async function firstBroken(stream, records) {
  let before = ZEROS;
  for (const [place, record] of records.entries()) {
    const { hash, position: _, withheld, sealed, seal_key: key, ...hashed } = record;
    if (key && !(await opens(record))) return place + 1;
    if (sealed) hashed.data = { sealed };
    const follows = record.stream === stream && record.version === place + 1 && record.prev_hash === before;
    // The hash of a partly withheld, unsealed record cannot be recomputed.
    const fits = (withheld?.length > 0 && !sealed) || hash === (await sha256(before + canonical(hashed)));
    if (!follows || !fits) return place + 1;
    before = hash;
  }
  return 0;
}

/** Whether a record's data equals its sealed data, decrypted with its key. */
async function opens({ stream, version, type, schema_version: form, data, sealed, seal_key: key }) {
  try {
    const stored = bytes(sealed.replace(/^v1\./, ""));
    const cipher = { name: "AES-GCM", iv: stored.slice(0, 12), additionalData: new TextEncoder().encode(`${stream}|${version}|${type}|${form}`) };
    const opener = await crypto.subtle.importKey("raw", bytes(key), "AES-GCM", false, ["decrypt"]);
    const opened = new TextDecoder().decode(await crypto.subtle.decrypt(cipher, opener, stored.slice(12)));
    return canonical(JSON.parse(opened)) === canonical(data);
  } catch {
    return false;
  }
}

function bytes(base64url) {
  return Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

/** RFC 8785: what JSON.stringify writes, with the keys in order. */
function canonical(value) {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

export async function sha256(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
