import {
  RiLayoutColumnLine,
  RiLayoutTopLine,
  RiWindow2Line,
} from '@remixicon/react';
import { extensionOf } from '../registry/MockupComponentBlueprint';
import { ICON, object, TITLE } from '../registry/schemas';
import type { ContainerProps } from './ContainerPieces';

const pieces = () => import('./ContainerPieces');

// The form has no field for what is within: the editor opens the container for that.
const SCHEMA = object({ title: TITLE });

/** What holds other items, in `props.items`. */
export const containerComponents = [
  extensionOf<ContainerProps>({
    name: 'container-section',
    title: 'Section',
    icon: <RiLayoutTopLine {...ICON} />,
    schema: SCHEMA,
    defaultProps: { title: 'Section', items: [] },
    defaultSize: { w: 12, h: 10 },
    loader: async () => (await pieces()).SectionPiece,
  }),
  extensionOf<ContainerProps>({
    name: 'container-columns',
    title: 'Columns',
    icon: <RiLayoutColumnLine {...ICON} />,
    schema: SCHEMA,
    defaultProps: { items: [] },
    defaultSize: { w: 12, h: 8 },
    loader: async () => (await pieces()).ColumnsPiece,
  }),
  extensionOf<ContainerProps>({
    name: 'container-tabs',
    title: 'Tabs',
    icon: <RiWindow2Line {...ICON} />,
    schema: SCHEMA,
    defaultProps: { items: [] },
    defaultSize: { w: 12, h: 10 },
    loader: async () => (await pieces()).TabsPiece,
  }),
];
