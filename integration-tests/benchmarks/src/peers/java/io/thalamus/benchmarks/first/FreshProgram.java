// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.tools.ToolProvider;

/**
 * A program that is run in processes of its own. Immutable.
 *
 * @param jars what it needs
 * @param own a jar of its own classes: of folders, an AOT cache is not made
 */
record FreshProgram(String name, List<Path> jars, Path own, String main, List<String> options) {
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final Pattern PEAK = Pattern.compile("VmHWM:\\s*(\\d+) kB");

  /**
   * What was seen of one process.
   *
   * @param millis from its start to its first line
   * @param peakKilobytes the most that was resident; 0 where that is unknown
   */
  record Run(List<String> lines, double millis, long peakKilobytes) {}

  /**
   * Returns a program for Thalamus, of which no classes are on the class path of this process.
   *
   * @param main the name of its class
   * @param folder gets its classes
   */
  static FreshProgram ofThalamus(String main, String source, Path folder) throws IOException {
    Path embedded;
    try (Stream<Path> files = Files.list(ROOT.resolve("bundles/embedded/target"))) {
      Pattern name = Pattern.compile("io\\.thalamus\\.embedded-[^-]+(-SNAPSHOT)?\\.jar");
      embedded =
          files
              .filter(file -> name.matcher(file.getFileName().toString()).matches())
              .findFirst()
              .orElseThrow();
    }
    Path file = Files.writeString(folder.resolve(main + ".java"), source);
    Path classes = Files.createDirectory(folder.resolve("classes"));
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                System.err,
                System.err,
                "-cp",
                embedded.toString(),
                "-d",
                classes.toString(),
                file.toString());
    if (status != 0) {
      throw new IOException(main + " does not compile");
    }
    // Beside x86, simd and its module are not needed.
    boolean hasMachineCode =
        System.getProperty("os.name").equals("Linux")
            && System.getProperty("os.arch").equals("amd64");
    return new FreshProgram(
        "thalamus",
        List.of(embedded),
        packed(classes, folder.resolve("thalamus.jar")),
        main,
        hasMachineCode ? List.of() : List.of("--add-modules=jdk.incubator.vector"));
  }

  /**
   * Returns a program for a peer, which is on the class path of this process.
   *
   * @param jars a pattern of the names of those that it needs
   * @param folder gets its classes
   */
  static FreshProgram ofPeer(String name, String jars, Class<?> main, Path folder)
      throws IOException {
    List<Path> classPath =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(Path::of)
            .toList();
    return new FreshProgram(
        name,
        classPath.stream().filter(path -> path.getFileName().toString().matches(jars)).toList(),
        packed(classPath.getFirst(), folder.resolve(name + ".jar")),
        main.getName(),
        List.of());
  }

  private static Path packed(Path classes, Path jar) throws IOException {
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
        Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new ZipEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
      }
    }
    return jar;
  }

  /** Prints a figure of it. */
  void print(String figure, Object value) {
    System.out.println(name + "." + figure + " = " + value);
  }

  /**
   * Runs it in a process.
   *
   * @param more options of the JVM
   * @param folder where it runs
   * @throws IOException if it fails
   */
  Run run(List<String> more, Path folder, String... arguments)
      throws IOException, InterruptedException {
    List<String> words = new ArrayList<>();
    words.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
    // From a small heap, resident memory is what is used.
    words.addAll(List.of("-Xms32m", "-XX:+UseSerialGC"));
    words.addAll(options);
    words.addAll(more);
    words.add("--enable-native-access=ALL-UNNAMED");
    words.add("-cp");
    List<String> places = new ArrayList<>(List.of(own.toString()));
    jars.forEach(jar -> places.add(jar.toString()));
    words.add(String.join(File.pathSeparator, places));
    words.add(main);
    words.addAll(List.of(arguments));
    Path errors = folder.resolve("errors");
    long start = System.nanoTime();
    Process process =
        new ProcessBuilder(words).directory(folder.toFile()).redirectError(errors.toFile()).start();
    Peak peak = new Peak(process);
    peak.start();
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(process.getInputStream()))) {
      String first = reader.readLine();
      double millis = (System.nanoTime() - start) / 1e6;
      List<String> lines = new ArrayList<>();
      lines.add(first);
      lines.addAll(reader.readAllLines());
      if (process.waitFor() != 0 || first == null) {
        throw new IOException(name + " fails: " + Files.readString(errors));
      }
      peak.join();
      return new Run(lines, millis, peak.kilobytes);
    }
  }

  /** A watch over the resident memory of a process, as Linux counts it. */
  private static final class Peak extends Thread {
    private static final long PAUSE_MILLIS = 5;

    private final Process process;
    private long kilobytes;

    Peak(Process process) {
      super("peak of " + process.pid());
      this.process = process;
    }

    @Override
    public void run() {
      Path status = Path.of("/proc/" + process.pid() + "/status");
      try {
        while (process.isAlive()) {
          Matcher peak = PEAK.matcher(Files.readString(status));
          if (peak.find()) {
            kilobytes = Long.parseLong(peak.group(1));
          }
          Thread.sleep(PAUSE_MILLIS);
        }
      } catch (IOException gone) {
        // The process has ended, or this is not Linux: what was seen counts.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
