/** Leaves the dashboard for an address of the master; Back leads to the page before. */
export const leaveFor = (address: string) => location.replace(address);
