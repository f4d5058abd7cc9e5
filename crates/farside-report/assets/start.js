// Puts the live figures in the place of the pictures. Without scripts the pictures stay.
"use strict";
document.querySelectorAll("figure").forEach((figure) => {
  const data = figure.querySelector("script.data");
  const live = figure.querySelector(".live");
  const still = figure.querySelector(".still");
  if (!data || !live) return;
  live.hidden = false;
  try {
    const chart = JSON.parse(data.textContent);
    (chart.kind === "heat" ? farsideHeat : farsideLines)(live, chart);
    still.style.display = "none";
  } catch (error) {
    live.hidden = true;
    console.error(error);
  }
});
