// Asks the app itself, which answers at ../api/.
document.getElementById("greet").addEventListener("click", async () => {
  const who = document.getElementById("who").value;
  const answer = await fetch("../api/greet", { method: "POST", body: who });
  document.getElementById("answer").textContent = await answer.text();
});
