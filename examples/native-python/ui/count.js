// Asks the app itself, which answers at ../api/.
document.getElementById("count").addEventListener("click", async () => {
  const text = document.getElementById("text").value;
  const answer = await fetch("../api/count", { method: "POST", body: text });
  document.getElementById("words").textContent = `${(await answer.json()).words} words`;
});
