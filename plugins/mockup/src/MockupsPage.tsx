import { Route, Routes } from 'react-router-dom';
import { MockupList } from './list/MockupList';

/** The list of mockups, the trash, and the pages of each mockup. */
export function MockupsPage() {
  return (
    <Routes>
      <Route path="/" element={<MockupList />} />
    </Routes>
  );
}
