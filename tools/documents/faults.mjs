import { isHistory, readDocuments } from './documents.mjs';
import { figureFaults } from './figures.mjs';
import { linkFaults, sourceFileFaults } from './links.mjs';
import { screenFaults } from './screens.mjs';
import { tableFaults } from './tables.mjs';
import { snippetFaults } from './snippets.mjs';

/** The messages for all faults of the documents of a repository. */
export function documentFaults(root) {
  return readDocuments(root).flatMap(({ name, text }) => {
    const ofToday = isHistory(name)
      ? []
      : [snippetFaults, sourceFileFaults, figureFaults].flatMap((faultsOf) => faultsOf(root, name, text));
    return ofToday.concat(tableFaults(root, name, text), linkFaults(root, name, text), screenFaults(name, text));
  });
}
