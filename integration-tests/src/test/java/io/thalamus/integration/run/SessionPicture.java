// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jline.builtins.ScreenTerminal;

/**
 * The moving picture of a session: types the README's session into the real shell, in a terminal
 * that the command {@code script} makes, and writes what the screen showed as an SVG that CSS
 * moves. Where nothing moves, the picture is that of the last moment.
 */
final class SessionPicture implements Proof {
  private static final String PROMPT = "thalamus> ";
  private static final int WIDTH = 96;
  private static final int HEIGHT = 32;
  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(3);

  /** Output that comes so close together is one moment. */
  private static final double MOMENT = 0.06;

  /** Waits that are longer are shown as long as this. */
  private static final double LONGEST_WAIT = 1.2;

  private static final double HOLD = 5;
  private static final double CELL = 8.43;
  private static final int LINE = 19;
  private static final int TOP = 51;
  private static final int LEFT = 16;

  /** The output of the terminal, with its time in seconds. */
  private record Event(double second, String text) {}

  /** The text of a line of the screen from one second on. */
  private record Shown(double from, List<Run> runs) {}

  /** Characters of one colour. */
  private record Run(int column, String text, String colour, boolean isBold) {}

  private final List<Event> events = new ArrayList<>();
  private final StringBuffer said = new StringBuffer();
  private long begin;
  private int from;

  @Override
  public String name() {
    return "session";
  }

  @Override
  public String purpose() {
    return "the README's session as a moving picture (--output docs/pictures/session.svg)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    Path root = Path.of(System.getProperty("thalamus.root"));
    Path output = root.resolve(settings.text("output", "docs/pictures/session.svg"));
    settings.end();
    record(root, commands(Files.readAllLines(root.resolve("README.md"))));
    String picture = picture();
    Files.writeString(output, picture);
    figures.figure("bytes", picture.length());
    figures.promise("nothing failed", !said.toString().contains("thalamus: "));
  }

  private static List<String> commands(List<String> readme) {
    return readme.stream()
        .dropWhile(line -> !line.startsWith("    $ ./thalamus --with cpu"))
        .skip(1)
        .takeWhile(line -> line.isEmpty() || line.startsWith("    "))
        .filter(line -> line.startsWith("    " + PROMPT))
        .map(line -> line.substring(4 + PROMPT.length()))
        .toList();
  }

  private void record(Path root, List<String> commands) throws Exception {
    Path storage = Files.createTempDirectory("thalamus-session");
    String shell =
        "stty cols %d rows %d; exec '%s' --with cpu --storage '%s'"
            .formatted(
                WIDTH, HEIGHT, root.resolve("launcher/target/thalamus/bin/thalamus"), storage);
    ProcessBuilder builder = new ProcessBuilder("script", "-qefc", shell, "/dev/null");
    builder.environment().put("TERM", "xterm-256color");
    Process terminal = builder.directory(root.toFile()).redirectErrorStream(true).start();
    String folder = root + "/";
    Thread screen =
        Thread.ofPlatform().daemon().start(() -> watch(terminal.getInputStream(), folder));
    try {
      await();
      begin = System.nanoTime();
      for (String command : commands) {
        Thread.sleep(700);
        for (String word : command.split("(?<= )")) {
          terminal.getOutputStream().write(word.getBytes(StandardCharsets.UTF_8));
          terminal.getOutputStream().flush();
          Thread.sleep(90);
        }
        from = said.length();
        terminal.getOutputStream().write('\r');
        terminal.getOutputStream().flush();
        await();
      }
      Thread.sleep(300);
    } finally {
      terminal.descendants().forEach(ProcessHandle::destroyForcibly);
      terminal.destroyForcibly();
      screen.join();
    }
  }

  /** Reads what the terminal says; files are shown from the project's folder. */
  private void watch(InputStream in, String folder) {
    byte[] bytes = new byte[8192];
    byte[] rest = {};
    try (in) {
      for (int count = in.read(bytes); count >= 0; count = in.read(bytes)) {
        byte[] all = Arrays.copyOf(rest, rest.length + count);
        System.arraycopy(bytes, 0, all, rest.length, count);
        int whole = whole(all);
        rest = Arrays.copyOfRange(all, whole, all.length);
        String text = new String(all, 0, whole, StandardCharsets.UTF_8).replace(folder, "");
        synchronized (events) {
          double second = begin == 0 ? 0 : (System.nanoTime() - begin) / 1e9;
          events.add(new Event(second, text));
        }
        said.append(text);
      }
    } catch (IOException theTerminalHasGone) {
      return;
    }
  }

  /** Returns how many bytes hold whole characters of UTF-8. */
  private static int whole(byte[] bytes) {
    int last = bytes.length - 1;
    while (last >= 0 && (bytes[last] & 0xc0) == 0x80) {
      last--;
    }
    if (last < 0 || bytes[last] >= 0) {
      return bytes.length;
    }
    int length = Integer.numberOfLeadingZeros(~(bytes[last] << 24));
    return last + length <= bytes.length ? bytes.length : last;
  }

  /** Waits for the next prompt. */
  private void await() throws InterruptedException {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!said.substring(from).contains(PROMPT.strip())) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException("no prompt: " + said);
      }
      Thread.sleep(20);
    }
  }

  private String picture() {
    ScreenTerminal screen = new ScreenTerminal(WIDTH, HEIGHT);
    List<List<Shown>> lines = new ArrayList<>();
    for (int i = 0; i < HEIGHT; i++) {
      lines.add(new ArrayList<>(List.of(new Shown(0, List.of()))));
    }
    double shown = 0;
    double last = 0;
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      screen.write(event.text());
      boolean goesOn =
          i + 1 < events.size() && events.get(i + 1).second() - event.second() < MOMENT;
      if (!goesOn) {
        shown += Math.min(LONGEST_WAIT, event.second() - last);
        last = event.second();
        add(lines, shown, screen);
      }
    }
    return svg(lines, shown + HOLD);
  }

  private static void add(List<List<Shown>> lines, double second, ScreenTerminal screen) {
    long[] cells = new long[WIDTH * HEIGHT];
    screen.dump(cells, 0, 0, HEIGHT, WIDTH, null);
    for (int row = 0; row < HEIGHT; row++) {
      List<Run> runs = runs(Arrays.copyOfRange(cells, row * WIDTH, (row + 1) * WIDTH));
      List<Shown> line = lines.get(row);
      if (!line.getLast().runs().equals(runs)) {
        line.add(new Shown(second, runs));
      }
    }
  }

  /** Gaps are left out, so that no viewer's font moves what stands behind them. */
  private static List<Run> runs(long[] cells) {
    List<Run> runs = new ArrayList<>();
    int column = 0;
    while (column < cells.length) {
      if ((char) cells[column] == ' ') {
        column++;
        continue;
      }
      long attribute = cells[column] >>> 32;
      StringBuilder text = new StringBuilder();
      int end = column;
      while (end < cells.length
          && cells[end] >>> 32 == attribute
          && !(isBlank(cells, end) && isBlank(cells, end + 1))) {
        text.append((char) cells[end++]);
      }
      runs.add(run(column, text.toString().stripTrailing(), attribute));
      column = end;
    }
    return runs;
  }

  private static boolean isBlank(long[] cells, int column) {
    return column >= cells.length || (char) cells[column] == ' ';
  }

  /**
   * The attribute is JLine's: 0xYXFFFBBB, with X bold, Y whether there is a colour, F the colour.
   */
  private static Run run(int column, String text, long attribute) {
    boolean isBold = (attribute >> 24 & 0x8) != 0;
    boolean isColoured = (attribute >> 28 & 0x1) != 0;
    int colour = (int) (attribute >> 12 & 0xfff);
    return new Run(column, text, isColoured ? palette(colour) : "", isBold);
  }

  /** Returns a colour that can be read on the picture's ground. */
  private static String palette(int colour) {
    int red = colour >> 8;
    int green = colour >> 4 & 0xf;
    int blue = colour & 0xf;
    if (blue > red && blue >= green) {
      return "#6cb6ff";
    }
    if (red > green) {
      return "#f47067";
    }
    return green > red ? "#7ec699" : red > 12 ? "" : "#8b949e";
  }

  private static String svg(List<List<Shown>> lines, double seconds) {
    int used = HEIGHT;
    while (used > 1 && lines.get(used - 1).size() == 1) {
      used--;
    }
    int width = (int) Math.ceil(2 * LEFT + WIDTH * CELL);
    int height = TOP + used * LINE;
    StringBuilder styles = new StringBuilder();
    StringBuilder texts = new StringBuilder();
    int number = 0;
    for (int row = 0; row < used; row++) {
      List<Shown> line = lines.get(row);
      for (int i = 0; i < line.size(); i++) {
        Shown shown = line.get(i);
        boolean isLast = i == line.size() - 1;
        if (shown.runs().isEmpty()) {
          continue;
        }
        String begin = percent(shown.from() / seconds);
        styles.append("@keyframes k%d{0%%{opacity:0}%s%%{opacity:1}".formatted(number, begin));
        if (!isLast) {
          styles.append("%s%%{opacity:0}".formatted(percent(line.get(i + 1).from() / seconds)));
        }
        styles.append("to{opacity:%d}}\n".formatted(isLast ? 1 : 0));
        texts.append(
            "<g%s style=\"animation-name:k%d\">".formatted(isLast ? "" : " opacity=\"0\"", number));
        for (Run run : shown.runs()) {
          texts.append(text(run, row));
        }
        texts.append("</g>\n");
        number++;
      }
    }
    return """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" \
    role="img" aria-label="a session in the shell, in which a device is installed under load">
    <style>
    .screen g{animation-duration:%3$ss;animation-timing-function:step-end;\
    animation-iteration-count:infinite}
    @media (prefers-reduced-motion:reduce){.screen g{animation:none}}
    %4$s</style>
    <rect width="%1$d" height="%2$d" rx="9" fill="#1c2128"/>
    <g><circle cx="20" cy="17" r="5.5" fill="#f47067"/><circle cx="38" cy="17" r="5.5" \
    fill="#e0b354"/><circle cx="56" cy="17" r="5.5" fill="#7ec699"/></g>
    <g class="screen" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans \
    Mono', monospace" font-size="14" fill="#d8dee9" xml:space="preserve">
    %5$s</g>
    </svg>
    """
        .formatted(width, height, String.format(Locale.ROOT, "%.1f", seconds), styles, texts);
  }

  private static String percent(double part) {
    return String.format(Locale.ROOT, "%.2f", 100 * part);
  }

  private static String text(Run run, int row) {
    String words = run.text().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    return String.format(
        Locale.ROOT,
        "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\""
            + " lengthAdjust=\"spacingAndGlyphs\"%s%s>%s</text>",
        LEFT + run.column() * CELL,
        TOP + row * LINE,
        run.text().length() * CELL,
        run.colour().isEmpty() ? "" : " fill=\"" + run.colour() + "\"",
        run.isBold() ? " font-weight=\"bold\"" : "",
        words);
  }
}
