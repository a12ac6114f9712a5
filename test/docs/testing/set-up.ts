import { TestLocks } from 'nestjs-distribute-lock/testing';

// #region line
new TestLocks().lockByHand();
// #endregion
