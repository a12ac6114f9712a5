import { isHistory, readDocuments } from './documents.mjs';
import { linkFaults } from './links.mjs';
import { tableFaults } from './tables.mjs';
import { snippetFaults } from './snippets.mjs';

/** The messages for all faults of the documents of a repository. */
export function documentFaults(root) {
  return readDocuments(root).flatMap(({ name, text }) => {
    const snippets = isHistory(name) ? [] : snippetFaults(root, name, text);
    return snippets.concat(tableFaults(root, name, text), linkFaults(root, name, text));
  });
}
