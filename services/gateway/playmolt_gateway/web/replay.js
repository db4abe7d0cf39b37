// The player of a replay file.
(() => {
  const { frames, play, pause, again } = JSON.parse(document.getElementById("frames").textContent);
  const [stage, slider, button, where, description] = ["stage", "at", "play", "where", "description"].map((id) => document.getElementById(id));
  let place = frames.length - 1;
  let timer = null;
  slider.min = 0;
  slider.max = frames.length - 1;

  function show(next) {
    place = Math.max(0, Math.min(next, frames.length - 1));
    const [version, text, picture] = frames[place];
    stage.replaceChildren(new DOMParser().parseFromString(picture, "image/svg+xml").documentElement);
    slider.value = place;
    slider.setAttribute("aria-valuetext", text);
    where.textContent = `${version} / ${frames.at(-1)[0]}`;
    description.textContent = text;
    button.textContent = timer ? pause : place === frames.length - 1 ? again : play;
  }

  function stop() {
    clearInterval(timer);
    timer = null;
  }

  button.addEventListener("click", () => {
    if (timer) {
      stop();
      show(place);
      return;
    }
    if (place === frames.length - 1) place = -1;
    timer = setInterval(() => {
      if (place + 1 >= frames.length - 1) stop();
      show(place + 1);
    }, 900);
    show(place + 1);
  });
  slider.addEventListener("input", () => {
    stop();
    show(Number(slider.value));
  });
  show(place);
})();
