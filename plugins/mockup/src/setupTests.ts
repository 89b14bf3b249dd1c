import '@testing-library/jest-dom';
import { configure } from '@testing-library/react';

// The deadline of each wait, which a machine that does other things may come near.
configure({ asyncUtilTimeout: 30_000 });
