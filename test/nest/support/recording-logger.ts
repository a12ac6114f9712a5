import type { LoggerService } from '@nestjs/common';

type Line = readonly [level: 'log' | 'warn' | 'error' | 'debug', text: string];

/** A logger of Nest that keeps its lines. */
export class RecordingLogger implements LoggerService {
  readonly lines: Line[] = [];

  /** The lines of the library, except those of level debug, that contain `text`. */
  about(text: string): readonly Line[] {
    return this.lines.filter(([level, line]) => level !== 'debug' && line.includes(text));
  }

  log(text: string, context?: string): void {
    if (context === 'LockModule' || context === 'DistributeLock') this.lines.push(['log', text]);
  }

  warn(text: string): void {
    this.lines.push(['warn', text]);
  }

  error(text: string): void {
    this.lines.push(['error', text]);
  }

  debug(text: string): void {
    this.lines.push(['debug', text]);
  }
}
