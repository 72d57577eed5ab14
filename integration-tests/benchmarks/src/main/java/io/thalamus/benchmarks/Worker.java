// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.thalamus.benchmarks.engine.Engine;
import io.thalamus.model.Priority;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The process of one engine with one model: opens it, then runs on command.
 *
 * <pre>
 *   arguments   ENGINE THREADS MODEL INPUT...
 *   at start    ready OPEN_NANOS FIRST_RUN_NANOS
 *   run NANOS   nanos N...        one untimed run, then for about so long, one at least
 *   once        nanos N
 *   write DIR   files COUNT       the outputs of the last run as DIR/0.bin, ...
 *   about       about RSS_BYTES NOTE
 *   (the end)   ends
 * </pre>
 */
public final class Worker {
  /** The command and the answers; standard output is left to the engines' own chatter. */
  static final String FAILED = "failed ";

  private static final long KIBI = 1024;

  private final Engine.Session session;
  private final PrintStream out;

  private Worker(Engine.Session session, PrintStream out) {
    this.session = session;
    this.out = out;
  }

  /**
   * Serves until the end of standard input. Ends with status 1 where the engine objects, and says
   * why in a line that begins with {@value #FAILED}.
   */
  public static void main(String[] arguments) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err); // answers only; the engines' chatter is not for the coordinator
    try {
      serve(arguments, out);
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      out.println(FAILED + String.valueOf(e.getMessage()).replace('\n', ' '));
      e.printStackTrace();
      System.exit(1);
    }
    System.exit(0); // natives may have left threads behind
  }

  private static void serve(String[] arguments, PrintStream out) throws Exception {
    Engine engine =
        Engine.find(arguments[0])
            .orElseThrow(() -> new IllegalArgumentException("no engine " + arguments[0]));
    int threads = Integer.parseInt(arguments[1]);
    List<byte[]> inputs = new ArrayList<>();
    for (int i = 3; i < arguments.length; i++) {
      inputs.add(Files.readAllBytes(Path.of(arguments[i])));
    }
    long start = System.nanoTime();
    long worked = processorNanos();
    try (Engine.Host host = engine.start(threads);
        Engine.Session session = host.open(Path.of(arguments[2]), inputs, Priority.MEDIUM)) {
      long opened = System.nanoTime();
      long workedToOpen = processorNanos();
      session.run();
      long first = System.nanoTime() - opened;
      long workedFirst = processorNanos() - workedToOpen;
      out.println(
          "ready "
              + (opened - start)
              + " "
              + first
              + " "
              + (workedToOpen - worked)
              + " "
              + workedFirst);
      Worker worker = new Worker(session, out);
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        worker.answer(line.split(" ", 2));
      }
    }
  }

  /** Returns the processor time of all threads: other processes do not lengthen it. */
  private static long processorNanos() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
        ? system.getProcessCpuTime()
        : 0;
  }

  private void answer(String[] words) throws Exception {
    switch (words[0]) {
      case "run" -> {
        session.run();
        run(Long.parseLong(words[1]));
      }
      case "once" -> run(0);
      case "write" -> write(Path.of(words[1]));
      case "about" -> out.println("about " + peakBytes() + " " + session.note());
      default -> throw new IllegalArgumentException("unknown command " + words[0]);
    }
  }

  private void run(long nanos) throws Exception {
    StringBuilder line = new StringBuilder("nanos");
    long start = System.nanoTime();
    long before = start;
    do {
      session.run();
      long now = System.nanoTime();
      line.append(' ').append(now - before);
      before = now;
    } while (before - start < nanos);
    out.println(line);
  }

  private void write(Path folder) throws Exception {
    List<byte[]> outputs = session.outputs();
    for (int i = 0; i < outputs.size(); i++) {
      Files.write(folder.resolve(i + ".bin"), outputs.get(i));
    }
    out.println("files " + outputs.size());
  }

  /** The largest resident size so far, as Linux counts it; 0 elsewhere. */
  private static long peakBytes() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.isReadable(status)) {
      return 0;
    }
    for (String line : Files.readAllLines(status)) {
      if (line.startsWith("VmHWM:")) {
        return Long.parseLong(line.replaceAll("\\D", "")) * KIBI;
      }
    }
    return 0;
  }
}
