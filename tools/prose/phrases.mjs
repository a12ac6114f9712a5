/** The phrases that this project does not use, and what to write instead. CONTRIBUTING.md contains the style rules. */
export const phrases = [
  {
    rule: 'person',
    found:
      /\b(?:who(?:m)?ever|(?:some|no|any)body(?: else)?|those (?:who|that)|who (?:would|waits?|has|asks?|holds?|wants?))\b/gi,
    instead: 'name the component: the holder, the caller, the waiter, the queue, Redis',
  },
  {
    rule: 'metaphor',
    found:
      /\b(?:mute|bur(?:y|ies|ied)|hears? of|heard of|comes? to know|(?:is|are|was|were) told|stood|stands? (?:in|for|on|at|there|beside|behind))\b/gi,
    instead: 'write the standard term: does not respond, discard, notify, replace, wait',
  },
  {
    rule: 'time',
    found:
      /\b(?:meanwhile|any ?more|a while|for ever|so (?:long|many) as that|the (?:very )?same (?:moment|time) as that)\b/gi,
    instead: 'write what ends or starts: no longer, until the release, during the call',
  },
  {
    rule: 'possession',
    found: /\b(?:of (?:its|their|our|your|his) own|one another's)\b/gi,
    instead: 'write "its own ...", "a separate ..." or name the owner',
  },
];
