/** Stands between an owner token and the number of one of its ballots; no part of either. */
const SEPARATOR = 'R';

/** Mints a token for each ballot of this process, so that none is ever used again. */
export class BallotTokens {
  private sequence = 0;

  next(ownerToken: string): string {
    this.sequence += 1;
    return `${ownerToken}${SEPARATOR}${this.sequence.toString(36)}`;
  }
}

/** The owner of a ballot's token; an owner token is its own. */
export const ownerOf = (token: string): string => token.replace(/R[0-9a-z]+$/, '');
