import { readFileSync } from 'node:fs';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { problemKindInfo } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

/** `publint --strict`, which counts suggestions as faults, too. */
export async function lint({ tarball }) {
  const { buffer, byteOffset, byteLength } = readFileSync(tarball);
  const data = buffer.slice(byteOffset, byteOffset + byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: data }, strict: true });
  const wrong = messages.map((message) => `${message.type}: ${formatMessage(message, pkg, { color: false })}`);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return 'publint --strict reports no fault';
}

/** Checks the types for each way in which TypeScript resolves a package. */
export async function types({ tarball }) {
  const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
  if (analysis.types === false) throw new Error('the package has no types');
  const wrong = analysis.problems.map(({ kind, ...where }) => {
    const { entrypoint = '', resolutionKind = '' } = where;
    return `${kind} ${entrypoint} ${resolutionKind}: ${problemKindInfo[kind].shortDescription}`;
  });
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return `right for ${Object.keys(analysis.entrypoints).join(', ')} in node10, node16 (ESM, CommonJS) and bundler`;
}
