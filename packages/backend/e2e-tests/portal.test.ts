// The portal in a browser: the pages that are built, and what `npm start` runs behind them.

import { shareOnePortal } from './harness/inBrowser';
import { testAdministration } from './tests/administration';
import { testFailures } from './tests/failures';
import { testMockups } from './tests/mockups';
import {
  testLosses,
  testMenu,
  testSignIn,
  testSwitching,
  testWalk,
} from './tests/openTenant';
import {
  testForcedColors,
  testKeyboard,
  testPhone,
  testRestarts,
} from './tests/otherWays';
import { testPages } from './tests/pages';
import { testPlugins } from './tests/plugins';
import { testReadme } from './tests/readme';
import { testShares } from './tests/shares';
import { testStockPages } from './tests/stockPages';
import { testSearchAndImport } from './tests/writing';

shareOnePortal();

testReadme();
testSignIn();
testSwitching();
testMenu();
testWalk();
testStockPages();
testPlugins();
testSearchAndImport();
testAdministration();
testMockups();
testPages();
testShares();
testKeyboard();
testForcedColors();
testPhone();
testLosses();
testFailures();
testRestarts();
