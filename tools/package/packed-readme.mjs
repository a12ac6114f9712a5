/** The README as the registry shows it: outside the repository, where relative links and pictures lead nowhere. */

const PICTURE = /^!\[[^\]]*\]\([^)]*\)\n\n?/gm;
const LINK = /\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)/g;
const INSIDE = new Map([['CHANGELOG.md', 'CHANGELOG.md']]);

/**
 * Pictures are removed. Links to files of the repository become absolute, or plain text while the address of the repository
 * is not known.
 * @param repository - the address of the repository, such as `https://github.com/owner/name`
 */
export function packedReadme(text, version, repository) {
  return text
    .replace(/<!-- [\s\S]*? -->\n\n?/g, '')
    .replace(PICTURE, '')
    .replace(LINK, (_link, shown, target) => {
      if (INSIDE.has(target)) return `[${shown}](${INSIDE.get(target)})`;
      return repository === undefined ? shown : `[${shown}](${repository}/blob/v${version}/${target})`;
    });
}

/** The web address in `repository` of a manifest. */
export function webAddress(manifest) {
  return manifest.repository?.url.replace(/^git\+/, '').replace(/\.git$/, '');
}
