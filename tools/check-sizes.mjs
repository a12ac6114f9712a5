#!/usr/bin/env node
/** Compares each entry with its budget, and the documents with theirs. Needs no build; `npm run check:package` measures the tarball. */
import { MOST_DOCUMENT_BYTES, MOST_LLMS_BYTES } from './package/contents.mjs';
import { entrySizeFaults, entrySizes } from './package/entry-sizes.mjs';
import { documentBytes } from './package/packed-documents.mjs';

const sizes = await entrySizes();
const { pages, llms } = documentBytes();
const faults = [
  ...entrySizeFaults(sizes),
  ...above('the documents have', pages, MOST_DOCUMENT_BYTES),
  ...above('llms.txt and llms-full.txt have', llms, MOST_LLMS_BYTES),
];
for (const fault of faults) console.error(`sizes: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else {
  const entries = sizes.map(({ name, bytes, most }) => `${name} ${bytes} of ${most}`);
  console.log(
    `sizes: ${entries.join(', ')}; documents ${pages} of ${MOST_DOCUMENT_BYTES}, llms ${llms} of ${MOST_LLMS_BYTES}`,
  );
}

function above(what, bytes, most) {
  return bytes <= most ? [] : [`${what} ${bytes} bytes compressed, but at most ${most}`];
}
