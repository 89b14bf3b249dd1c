import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button } from '@backstage/ui';
import { Failure, useTask } from '@internal/pages';
import type { RefObject } from 'react';
import { download, fileNameOf } from '../list/files';
import { mockupTranslationRef } from '../translation';

/** Makes a PNG of what is drawn, in the browser, and hands it to the user as a file. */
export function PngButton(props: {
  of: RefObject<HTMLElement>;
  /** What the file is called, without its ending. */
  name: string;
}) {
  const { of, name } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const { isPending, failure, run } = useTask();
  const save = () =>
    run(t('components.png.failed'), async () => {
      if (of.current) {
        await download(
          new Response(await toPng(of.current)),
          fileNameOf(name, 'png'),
        );
      }
    });
  return (
    <>
      <Button variant="secondary" isPending={isPending} onPress={save}>
        {t('components.png.save')}
      </Button>
      {failure && <Failure {...failure} />}
    </>
  );
}

async function toPng(element: HTMLElement): Promise<Blob> {
  const { toBlob } = await import('html-to-image');
  const backgroundColor = getComputedStyle(document.body).backgroundColor;
  // What is out of sight is not drawn otherwise.
  element.dataset.capturing = '';
  const restore = inlineDrawings(element);
  try {
    const blob = await toBlob(element, { backgroundColor, skipFonts: true });
    if (!blob) {
      throw new Error('The browser has made no picture');
    }
    return blob;
  } finally {
    restore();
    delete element.dataset.capturing;
  }
}

const OF_DRAWINGS = ['fill', 'stroke', 'stroke-width', 'opacity', 'font'];

/**
 * Gives the shapes of SVG drawings themselves what style sheets give them: the library copies
 * a drawing without those.
 *
 * @returns what takes that back
 */
function inlineDrawings(element: HTMLElement): () => void {
  const shapes = [...element.querySelectorAll<SVGElement>('svg *')];
  const styles = shapes.map(shape => {
    const computed = getComputedStyle(shape);
    return OF_DRAWINGS.map(name => [name, computed.getPropertyValue(name)]);
  });
  const before = shapes.map(shape => shape.style.cssText);
  shapes.forEach((shape, at) => {
    for (const [name, value] of styles[at]) {
      shape.style.setProperty(name, value);
    }
  });
  return () =>
    shapes.forEach((shape, at) => {
      shape.style.cssText = before[at];
    });
}
