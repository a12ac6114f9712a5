/** What a check found. Only `failed` makes the exit code 1. */
export type Result = 'ok' | 'warning' | 'failed' | 'skipped';

/** The result of a check: what it found, and what to do about it. */
export interface Finding {
  readonly result: Result;
  readonly finding: string;
  readonly fix?: string;
}

export const ok = (finding: string): Finding => ({ result: 'ok', finding });
export const skipped = (finding: string): Finding => ({ result: 'skipped', finding });
export const warning = (finding: string, fix: string): Finding => ({ result: 'warning', finding, fix });
export const failed = (finding: string, fix: string): Finding => ({ result: 'failed', finding, fix });

const SEVERITY: readonly Result[] = ['failed', 'warning', 'skipped', 'ok'];

/** One finding for the findings of several servers: the worst ones, with the names of their servers. */
export function combined(findings: readonly (readonly [server: string, finding: Finding])[]): Finding {
  const [[, first]] = findings;
  if (findings.length === 1) return first;
  const result = SEVERITY.find((one) => findings.some(([, finding]) => finding.result === one))!;
  const worst = findings.filter(([, finding]) => finding.result === result);
  const texts = new Map<string, string[]>();
  for (const [server, { finding }] of worst) texts.set(finding, [...(texts.get(finding) ?? []), server]);
  const finding = [...texts].map(([text, servers]) => `${namesOf(servers, findings.length)}: ${text}`).join(' ');
  const fixes = [...new Set(worst.flatMap(([, { fix }]) => fix ?? []))];
  return fixes.length === 0 ? { result, finding } : { result, finding, fix: fixes.join(' ') };
}

const namesOf = (servers: readonly string[], all: number): string =>
  servers.length === all ? `${all} servers` : servers.join(', ');
