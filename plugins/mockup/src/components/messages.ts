/** Texts that all pages share. */
export const componentsMessages = {
  copy: {
    link: 'Copy link',
  },
  text: {
    missing: '{{label}} is missing.',
    long: 'At most {{most}} characters, and these are {{length}}.',
  },
  containers: {
    tabs: 'Tabs',
    tab: 'Tab {{number}}',
    empty: 'Nothing is in it yet.',
  },
  png: {
    save: 'Save as PNG',
    failed: 'The picture was not made',
  },
  live: {
    failed: 'It could not be read. {{message}}',
    retry: 'Try again',
    empty: 'There is nothing to show.',
    needs: 'Add {{parameters}} to the address of the page.',
    tooMany: 'The page asks for too much: split it into several pages.',
    some: '{{shown}} of {{total}}',
    name: 'Name',
    kind: 'Kind',
    type: 'Type',
    lifecycle: 'Lifecycle',
    owner: 'Owner',
    description: 'Description',
    noStars: 'You have starred no entity yet.',
    refused: 'The portal shows no frame of {{address}}.',
    hosts: 'Frames may be of these hosts, with https: {{hosts}}',
    noHosts: 'none',
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
