/** Texts that all pages share. */
export const componentsMessages = {
  copy: {
    link: 'Copy link',
    done: 'Copied',
    failed: 'The browser did not let the page copy.',
  },
  drawing: {
    unknown: 'This portal has no such component.',
    misfit: 'The properties do not fit: {{problem}}.',
    failed: 'It could not be drawn. {{message}}',
    addressRefused: 'Not a safe address: {{address}}',
    imageBroken: 'No image at {{address}}',
    noImage: 'Image',
    table: 'Table',
    chart: 'Chart',
  },
} as const;
