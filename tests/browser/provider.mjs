// A real OpenID provider on loopback: node provider.mjs PORT REDIRECT_URI. Its development pages sign in any name.
import { Provider } from "oidc-provider";

const [port, redirect] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  claims: { openid: ["sub"], profile: ["name", "preferred_username"] },
  clients: [{ client_id: "arena", client_secret: "a secret: with +signs", redirect_uris: [redirect] }],
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, name: `${sub} of the provider` }) }),
  pkce: { required: () => true },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
