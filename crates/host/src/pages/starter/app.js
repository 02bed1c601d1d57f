// One note, kept in the page's own folder with history. Texts go into the page as text, never as HTML.
const file = '/apps/{id}/data/note.txt';
const text = document.getElementById('text');
const state = document.getElementById('state');

reploid.vfs.read(file).then(
  (content) => { text.value = content; },
  (error) => { state.textContent = error.message.startsWith('File not found') ? '' : error.message; },
);

document.getElementById('note').addEventListener('submit', async (event) => {
  event.preventDefault();
  try {
    await reploid.vfs.write(file, text.value);
    state.textContent = 'Saved.';
  } catch (error) {
    state.textContent = error.message;
  }
});
