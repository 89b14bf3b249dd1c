import { GRID } from '../../components/grid';

/** What react-grid-layout computes positions from. */
export function positionParams(width: number) {
  return {
    cols: GRID.cols,
    containerPadding: GRID.margin,
    containerWidth: width,
    margin: GRID.margin,
    maxRows: Infinity,
    rowHeight: GRID.rowHeight,
  };
}
