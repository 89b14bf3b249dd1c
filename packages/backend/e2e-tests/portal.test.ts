// The portal in a browser: the pages that are built, and what `npm start` runs behind them.

import { sampleOf } from '@internal/postgres/sample';
import { shareOnePortal } from './harness/inBrowser';
import { testAdministration } from './tests/administration';
import { testMockups } from './tests/mockups';
import {
  testLosses,
  testMenu,
  testSignIn,
  testSwitching,
} from './tests/openTenant';
import { testKeyboard, testPhone, testRestarts } from './tests/otherWays';
import { testStockPages } from './tests/stockPages';
import { testSearchAndImport } from './tests/writing';

/** How many of the others a text in `BROWSER_TESTS` chooses, other ones for each text. */
const CHOSEN = 3;

const ALWAYS = [testSignIn, testSwitching];
const OTHERS = [
  testMenu,
  testStockPages,
  testSearchAndImport,
  testAdministration,
  testMockups,
  testKeyboard,
  testPhone,
  testLosses,
  testRestarts,
];

const choice = process.env.BROWSER_TESTS;
const chosen =
  !choice || choice === 'all' ? OTHERS : sampleOf(OTHERS, CHOSEN, choice);

shareOnePortal();

for (const test of [...ALWAYS, ...OTHERS.filter(t => chosen.includes(t))]) {
  test();
}
