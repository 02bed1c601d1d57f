// The tour: shown once by itself, and whenever it is asked for.

const KEY = 'roost.toured';

class Tour {
  isOpen = $state(localStorage.getItem(KEY) === null);

  open(): void {
    this.isOpen = true;
  }

  close(): void {
    this.isOpen = false;
    localStorage.setItem(KEY, 'yes');
  }
}

export const tour = new Tour();
