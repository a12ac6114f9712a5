/** All safety measures. docs/reference/measures.md contains them as a table. */
import { measuresOfLateEffects } from './measures-late-effects.mjs';
import { measuresOfLinks } from './measures-links.mjs';
import { measuresOfOneCall } from './measures-one-call.mjs';
import { measuresP1toP7 } from './measures-p1-to-p7.mjs';
import { measuresP11 } from './measures-p11.mjs';
import { measuresP17 } from './measures-p17.mjs';
import { measuresP19 } from './measures-p19.mjs';
import { measuresP20 } from './measures-p20.mjs';
import { measuresP21 } from './measures-p21.mjs';
import { measuresP22 } from './measures-p22.mjs';
import { measuresP23 } from './measures-p23.mjs';
import { measuresP24P25 } from './measures-p24-p25.mjs';
import { measuresP26 } from './measures-p26.mjs';
import { measuresP28 } from './measures-p28.mjs';
import { measuresP8toP17 } from './measures-p8-to-p17.mjs';
import { measuresOfNesting } from './measures-nesting.mjs';
import { measuresOfPermits } from './measures-permits.mjs';
import { measuresOfTopologies } from './measures-topologies.mjs';

export const MEASURES = [
  ...measuresP1toP7,
  ...measuresP8toP17,
  ...measuresP17,
  ...measuresP11,
  ...measuresP19,
  ...measuresP20,
  ...measuresOfOneCall,
  ...measuresP21,
  ...measuresP22,
  ...measuresP23,
  ...measuresP24P25,
  ...measuresOfPermits,
  ...measuresOfLateEffects,
  ...measuresP26,
  ...measuresP28,
  ...measuresOfTopologies,
  ...measuresOfLinks,
  ...measuresOfNesting,
];
