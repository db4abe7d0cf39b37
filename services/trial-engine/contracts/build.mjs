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
const input = {
  language: "Solidity",
  sources: { "JuryVoting.sol": { content: readFileSync(here("JuryVoting.sol"), "utf8") } },
  settings: {
    ...settings,
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
  },
};

const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const { formattedMessage } of output.errors ?? []) console.error(formattedMessage);
if (output.errors?.length) process.exit(1);

const { abi, evm } = output.contracts["JuryVoting.sol"].JuryVoting;
const artifact = {
  contract: "JuryVoting",
  compiler: solc.version(),
  settings,
  abi,
  bytecode: `0x${evm.bytecode.object}`,
  deployedBytecode: `0x${evm.deployedBytecode.object}`,
};
writeFileSync(process.argv[2] ?? here("../playmolt_jury/chain/JuryVoting.json"), `${JSON.stringify(artifact, null, 1)}\n`);
