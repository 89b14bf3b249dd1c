import '@testing-library/jest-dom';
import { configure } from '@testing-library/react';

// The deadline of each wait, which a machine that does other things may come near.
configure({ asyncUtilTimeout: 30_000 });

// That of jsdom can't be read otherwise.
File.prototype.text = function text() {
  return new Promise(resolve => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.readAsText(this);
  });
};
