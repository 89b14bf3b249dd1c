/** Something that the person who typed `npm start` can act upon, on one line. */
export class StartError extends Error {}
