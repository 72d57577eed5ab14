// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Puts the distribution together in {@code target/thalamus} from the bundles that the resolver
 * chose, and runs it once to record the classes it loads. The file {@code finished} is written
 * last: without it there is no distribution.
 */
final class Assemble {
  /** The place of a resource of the index: attribute, and file of the exporter. */
  private static final Pattern URL =
      Pattern.compile("(<attribute name=\"url\" value=\")export/thalamus/([^\"/]+)\"");

  /** bnd's stand-in for the folders of a jar that are meant for some versions of Java. */
  private static final Pattern VERSIONED =
      Pattern.compile("(?s)\\s*<requirement namespace=\"bnd.multirelease\">.*?</requirement>");

  private final Path module;
  private final String version;
  private final Path launcher;
  private final Path framework;
  private final Path fresh;
  private final Path home;

  private Assemble(Path module, String version, Path launcher, Path framework) {
    this.module = module;
    this.version = version;
    this.launcher = launcher;
    this.framework = framework;
    this.fresh = module.resolve("target/thalamus.new");
    this.home = module.resolve("target/thalamus");
  }

  public static void main(String[] args) throws Exception {
    new Assemble(Path.of(args[0]), args[1], Path.of(args[2]), Path.of(args[3])).run();
  }

  private void run() throws Exception {
    delete(fresh);
    for (String folder : List.of("bin", "bundles", "devices", "samples")) {
      Files.createDirectories(fresh.resolve(folder));
    }
    copyTree(module.resolve("src/main/dist"), fresh);
    if (Files.isDirectory(module.resolve("samples"))) {
      copyTree(module.resolve("samples"), fresh.resolve("samples"));
    }
    Files.copy(launcher, fresh.resolve("bin/launcher.jar"));
    Files.copy(framework, fresh.resolve("bin/framework.jar"));
    index(bundles());
    Files.writeString(fresh.resolve("bin/version"), version + "\n");
    Files.writeString(fresh.resolve("bin/id"), id() + "\n");
    Files.deleteIfExists(home.resolve("finished"));
    delete(home);
    Files.move(fresh, home, StandardCopyOption.ATOMIC_MOVE);
    archive();
    Files.writeString(home.resolve("finished"), "");
    System.out.println("distribution: " + home);
  }

  /**
   * Copies what the resolver chose and lists it with start levels for the launcher.
   *
   * @return the name of each exported file to its place in the distribution
   */
  private Map<String, String> bundles() throws IOException {
    Map<String, Integer> levels = startLevels();
    Map<String, String> places = new TreeMap<>();
    List<String> lines = new ArrayList<>();
    List<Path> jars;
    try (Stream<Path> files = Files.list(module.resolve("target/export/thalamus"))) {
      jars = files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    }
    for (Path jar : jars) {
      String name;
      boolean device;
      try (JarFile file = new JarFile(jar.toFile())) {
        Attributes manifest = file.getManifest().getMainAttributes();
        name = manifest.getValue("Bundle-SymbolicName").split(";")[0].strip();
        String capabilities = manifest.getValue("Provide-Capability");
        device = capabilities != null && capabilities.contains("thalamus.device");
      }
      if (name.equals("org.apache.felix.framework")) {
        continue;
      }
      Integer level = levels.remove(name);
      if (level == null) {
        continue; // the exporter leaves behind what an earlier build wanted
      }
      String place = (device ? "devices/" : "bundles/") + name + ".jar";
      Files.copy(jar, fresh.resolve(place));
      places.put(jar.getFileName().toString(), place);
      lines.add(level + " " + place + " " + name);
    }
    if (!levels.isEmpty()) {
      throw new IllegalStateException("in -runbundles but not exported: " + levels.keySet());
    }
    Files.write(fresh.resolve("bin/bundles"), lines);
    return places;
  }

  /**
   * Writes the repository index for other OSGi products, out of the indexer's: with the places of
   * the distribution, without what is none of its bundles and what only bnd could install, and
   * without the time of its making, so that two builds give the same bytes.
   */
  private void index(Map<String, String> places) throws IOException {
    String made = Files.readString(module.resolve("target/index.xml"));
    Matcher resources = Pattern.compile("(?s)\\s*<resource>.*?</resource>").matcher(made);
    StringBuilder index = new StringBuilder();
    int left = places.size();
    while (resources.find()) {
      Matcher url = URL.matcher(VERSIONED.matcher(resources.group()).replaceAll(""));
      String place = url.find() ? places.get(url.group(2)) : null;
      if (place == null) {
        resources.appendReplacement(index, "");
      } else {
        String resource = url.replaceFirst(result -> result.group(1) + place + '"');
        resources.appendReplacement(index, Matcher.quoteReplacement(resource));
        left--;
      }
    }
    if (left != 0) {
      throw new IllegalStateException(left + " bundles are not in the index");
    }
    resources.appendTail(index);
    Files.writeString(
        fresh.resolve("index.xml"),
        index.toString().replaceFirst("increment=[\"'][0-9]+[\"']", "increment=\"0\""));
  }

  /** Symbolic name to start level, as {@code -runbundles} of the resolved file gives them. */
  private Map<String, Integer> startLevels() throws IOException {
    String text = Files.readString(module.resolve("thalamus.bndrun")).replaceAll("\\\\\\R", "");
    Matcher bundles = Pattern.compile("(?m)^-runbundles:(.*)$").matcher(text);
    if (!bundles.find()) {
      throw new IllegalStateException("thalamus.bndrun has no -runbundles");
    }
    Map<String, Integer> levels = new TreeMap<>();
    // A version range holds a comma of its own, within quotes.
    for (String clause : bundles.group(1).split(",(?=(?:[^']*'[^']*')*[^']*$)")) {
      Matcher level = Pattern.compile("startlevel=(\\d+)").matcher(clause);
      if (!level.find()) {
        throw new IllegalStateException("no start level: " + clause);
      }
      levels.put(clause.strip().split(";")[0], Integer.valueOf(level.group(1)));
    }
    return levels;
  }

  /** Changes with every byte of every bundle, so that no stale bundle cache is taken for good. */
  private String id() throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    try (Stream<Path> files = Files.walk(fresh)) {
      for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
        digest.update(fresh.relativize(file).toString().getBytes());
        digest.update(Files.readAllBytes(file));
      }
    }
    return HexFormat.of().formatHex(digest.digest(), 0, 12);
  }

  /**
   * One run whose loaded classes the JVM writes down. Without the archive everything works and
   * starts more slowly: a failure is reported, not thrown.
   */
  private void archive() throws IOException, InterruptedException {
    Path log = module.resolve("target/archive.log");
    ProcessBuilder builder =
        new ProcessBuilder(home.resolve("bin/thalamus").toString(), "--warm-up");
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    builder.redirectErrorStream(true).redirectOutput(log.toFile());
    Process process = builder.start();
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.waitFor();
    }
    if (process.exitValue() != 0) {
      System.out.println("the warm-up failed, so starts may be slower; see " + log);
    }
  }

  private static void copyTree(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Path target = to.resolve(from.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(target);
        } else {
          Files.copy(file, target, StandardCopyOption.COPY_ATTRIBUTES);
        }
      }
    }
  }

  private static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> files = Files.walk(folder)) {
      files
          .sorted(Comparator.reverseOrder())
          .forEach(
              file -> {
                try {
                  Files.deleteIfExists(file);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
  }
}
