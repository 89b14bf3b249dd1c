import { useContent } from '@backstage/core-components';
import { NotFoundErrorPage } from '@backstage/frontend-plugin-api';
import { Main } from '@internal/pages';
import { Route, Routes } from 'react-router-dom';
import { EditorPage } from './editor/EditorPage';
import { ComparePage } from './history/ComparePage';
import { VersionPage } from './history/VersionPage';
import { VersionsPage } from './history/VersionsPage';
import { MockupList } from './list/MockupList';
import { CommentsPage } from './review/CommentsPage';
import { TrashPage } from './list/TrashPage';

/** The list of mockups, the trash, and the pages of each mockup. */
export function MockupsPage() {
  const { contentRef } = useContent();
  return (
    <Main ref={contentRef}>
      <Routes>
        <Route path="/" element={<MockupList />} />
        <Route path="/trash" element={<TrashPage />} />
        <Route path="/:id" element={<EditorPage />} />
        <Route path="/:id/comments" element={<CommentsPage />} />
        <Route path="/:id/versions" element={<VersionsPage />} />
        <Route path="/:id/versions/:versionId" element={<VersionPage />} />
        <Route
          path="/:id/versions/:versionId/compare/:otherId"
          element={<ComparePage />}
        />
        <Route path="*" element={<NotFoundErrorPage />} />
      </Routes>
    </Main>
  );
}
