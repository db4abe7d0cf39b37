// Compiles JuryVoting.sol and writes its ABI and code to the file given, or to where the game reads them.
// The one order of keys and the settings below make the file the same on every machine.
import { readFileSync, writeFileSync } from "node:fs";
import solc from "solc";

const here = (name) => new URL(name, import.meta.url);
const settings = {
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: "none" },
};
const source = readFileSync(here("JuryVoting.sol"), "utf8");

// The source is that of five jurors. A case of one's own may have another number: the same source with that number.
function compiled(jurors) {
  const content = source.replaceAll("[5]", `[${jurors}]`).replace("JURORS = 5;", `JURORS = ${jurors};`);
  const input = {
    language: "Solidity",
    sources: { "JuryVoting.sol": { content } },
    settings: {
      ...settings,
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  for (const { formattedMessage } of output.errors ?? []) console.error(formattedMessage);
  if (output.errors?.length) process.exit(1);
  return output.contracts["JuryVoting.sol"].JuryVoting;
}

const code = ({ evm }) => ({
  bytecode: `0x${evm.bytecode.object}`,
  deployedBytecode: `0x${evm.deployedBytecode.object}`,
});
const five = compiled(5);
const artifact = {
  contract: "JuryVoting",
  compiler: solc.version(),
  settings,
  abi: five.abi,
  ...code(five),
  others: Object.fromEntries([3, 7, 9].map((jurors) => [jurors, code(compiled(jurors))])),
};
writeFileSync(process.argv[2] ?? here("../playmolt_jury/chain/JuryVoting.json"), `${JSON.stringify(artifact, null, 1)}\n`);
