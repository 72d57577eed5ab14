// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs with the embedded jar on their class path, and nothing else. */
@Order(3)
class EmbeddedTest {
  private static final Path SAMPLES = ProjectFiles.ROOT.resolve("launcher/samples/digits");
  private static final Path USES =
      ProjectFiles.ROOT.resolve("integration-tests/src/test/resources/embedded/Uses.java");
  private static final String VECTORS = "--add-modules=jdk.incubator.vector";
  private static final String SIMD = "the device simd is not available: start java with " + VECTORS;
  private static final String NATIVE = "--enable-native-access=ALL-UNNAMED";

  @TempDir Path directory;

  private record Outcome(int status, List<String> out, String err) {}

  private static Path jar() throws IOException {
    return ProjectFiles.jar(ProjectFiles.ROOT.resolve("bundles/embedded"));
  }

  private Outcome java(String... arguments) throws IOException, InterruptedException {
    return java(Path.of(System.getProperty("java.home")), arguments);
  }

  private Outcome java(Path home, String... arguments) throws IOException, InterruptedException {
    Path temporary = Files.createDirectories(directory.resolve("temporary"));
    List<String> words = new ArrayList<>();
    words.add(home.resolve("bin/java").toString());
    words.add("-Djava.io.tmpdir=" + temporary);
    words.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(words).directory(directory.toFile());
    File errors = directory.resolve("errors").toFile();
    Process process = builder.redirectError(errors).start();
    process.getOutputStream().close();
    List<String> out = new String(process.getInputStream().readAllBytes()).lines().toList();
    assertTrue(process.waitFor(120, TimeUnit.SECONDS), "the program does not end");
    try (Stream<Path> left = Files.list(temporary)) {
      assertEquals(List.of(), left.toList(), "temporary files are left");
    }
    return new Outcome(process.exitValue(), out, Files.readString(errors.toPath()));
  }

  private List<String> uses(String option, String program, Path... more) throws Exception {
    List<String> words =
        new ArrayList<>(
            List.of(option, "-cp", jar().toString(), USES.toString(), program, SAMPLES.toString()));
    Stream.of(more).map(Path::toString).forEach(words::add);
    Outcome outcome = java(words.toArray(String[]::new));
    assertEquals(0, outcome.status(), outcome::err);
    String errors = outcome.err().replaceAll("WARNING: Using incubator modules.*\\R", "");
    assertEquals("", errors);
    return outcome.out();
  }

  /** Stored compilations depend on the code, which is no bundle here. */
  @Test
  void theJarKnowsTheDigestsOfItsCode() throws Exception {
    try (JarFile embedded = new JarFile(jar().toFile())) {
      List<String> lines =
          text(embedded, "META-INF/thalamus/code.sha256")
              .lines()
              .filter(line -> line.startsWith("io.thalamus."))
              .toList();
      List<String> expected = new ArrayList<>();
      for (Path module : modules(embedded)) {
        byte[] content = Files.readAllBytes(ProjectFiles.jar(module));
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(content);
        String name = "io.thalamus." + module.getFileName() + ".jar ";
        expected.add(name + HexFormat.of().formatHex(digest));
      }
      assertEquals(expected.stream().sorted().toList(), lines);
    }
  }

  private static String text(JarFile jar, String entry) throws IOException {
    return new String(jar.getInputStream(jar.getEntry(entry)).readAllBytes());
  }

  /** Returns the modules whose classes are the jar's. */
  private static List<Path> modules(JarFile embedded) throws IOException {
    List<Path> all = new ArrayList<>();
    for (String folder : List.of("bundles", "backends")) {
      try (Stream<Path> modules = Files.list(ProjectFiles.ROOT.resolve(folder))) {
        modules
            .filter(module -> !module.endsWith("embedded"))
            .filter(
                module ->
                    embedded.getEntry("io/thalamus/" + module.getFileName() + "/package-info.class")
                        != null)
            .forEach(all::add);
      }
    }
    return all;
  }

  /** The parts are put together by hand here, and by Declarative Services elsewhere. */
  @Test
  void noComponentIsForgotten() throws Exception {
    // A service of each that a program has no use for, or that stands for a framework's.
    Set<String> leftOut =
        Set.of(
            "io.thalamus.runtime.CompilationCacheComponent",
            "io.thalamus.runtime.Readiness",
            "io.thalamus.runtime.caching.BundleDigests",
            "io.thalamus.runtime.partition.NnapiPolicy");
    String container =
        Files.readString(
            ProjectFiles.ROOT.resolve(
                "bundles/embedded/src/main/java/io/thalamus/embedded/container/Container.java"));
    Set<String> missing = new TreeSet<>();
    int components = 0;
    try (JarFile embedded = new JarFile(jar().toFile())) {
      for (Path module : modules(embedded)) {
        try (JarFile bundle = new JarFile(ProjectFiles.jar(module).toFile())) {
          for (JarEntry entry : Collections.list(bundle.entries())) {
            String name = entry.getName();
            if (name.startsWith("OSGI-INF/io.thalamus.") && name.endsWith(".xml")) {
              Matcher type =
                  Pattern.compile("implementation class=\"([^\"]+)\"").matcher(text(bundle, name));
              assertTrue(type.find(), name);
              components++;
              if (!leftOut.contains(type.group(1))
                  && !container.contains("import " + type.group(1) + ";")) {
                missing.add(type.group(1));
              }
            }
          }
        }
      }
    }
    assertEquals(Set.of(), missing);
    assertTrue(components > leftOut.size(), components + " components");
  }

  /** The time of a start is that of classes: none of a framework's before a bundle is installed. */
  @Test
  void aFrameworkIsStartedForTheFirstBundleThatIsInstalled() throws Exception {
    Path npu = ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.npu.jar");
    Pattern framework = Pattern.compile("^org\\.(osgi|apache\\.felix)\\.[\\w.$]+ source: .*");
    for (boolean installs : List.of(false, true)) {
      Path loaded = directory.resolve("loaded-" + installs);
      List<String> words =
          new ArrayList<>(
              List.of(
                  VECTORS,
                  "-Xlog:class+load:file=" + loaded + "::filecount=0",
                  "-cp",
                  jar().toString(),
                  USES.toString(),
                  installs ? "devices" : "inputs",
                  SAMPLES.toString(),
                  npu.toString()));
      Outcome outcome = java(words.toArray(String[]::new));
      assertEquals(0, outcome.status(), outcome::err);
      try (Stream<String> lines = Files.lines(loaded)) {
        List<String> classes =
            lines
                .map(line -> line.substring(line.lastIndexOf(']') + 1).strip())
                .filter(framework.asMatchPredicate())
                .toList();
        assertEquals(installs, !classes.isEmpty(), classes::toString);
      }
    }
  }

  /** Without a network: a thread loads what the first one will need, in whatever order it can. */
  @Test
  void theClassesOfAFirstInferenceAreLoadedAhead() throws Exception {
    assumeTrue(mayRunX86(), "it is the list of x86");
    Path loaded = directory.resolve("loaded");
    Outcome outcome =
        java(
            "-XX:ActiveProcessorCount=2",
            "-Xlog:class+load:file=" + loaded + "::filecount=0",
            "-cp",
            jar().toString(),
            USES.toString(),
            "ahead",
            SAMPLES.toString());
    assertEquals(List.of("true"), outcome.out(), outcome::err);
    Set<String> listed = new TreeSet<>();
    try (JarFile embedded = new JarFile(jar().toFile())) {
      text(embedded, "META-INF/thalamus/first-classes.txt").lines().forEach(listed::add);
    }
    assertTrue(listed.contains("io.thalamus.x86.X86PreparedModel"), listed::toString);
    Pattern name = Pattern.compile("(io\\.thalamus\\.\\S+) source: ");
    Set<String> missing = new TreeSet<>(listed);
    name.matcher(Files.readString(loaded))
        .results()
        .map(it -> it.group(1))
        .forEach(missing::remove);
    assertEquals(
        Set.of(), missing, "to write the list: integration-tests/run opening --write-classes");
  }

  @Test
  void withoutVectorsOthersServeAndOneLineSaysWhy() throws Exception {
    String x86 = ", the device x86 is not available: start java with " + NATIVE;
    String digits = "0 1 2 3 4 5 6 7 8 9 ";
    assertEquals(List.of(digits + "[" + SIMD + "]", "UNMAPPABLE"), uses(NATIVE, "all"));
    String without = uses("-Dno.options", "all").getFirst();
    assertEquals(digits + "[" + SIMD + (mayRunX86() ? x86 : "") + "]", without);
  }

  private static boolean mayRunX86() {
    return System.getProperty("os.name").equals("Linux")
        && List.of("amd64", "x86_64").contains(System.getProperty("os.arch"));
  }

  @Test
  void aProgramThatForgetsToCloseEndsAndLeavesNothing() throws Exception {
    assertEquals(List.of("true", "4"), uses(VECTORS, "forget"));
  }

  @Test
  void twoInstancesShareNothing() throws Exception {
    assertEquals(
        List.of(
            "[simd] [simd, cpu]",
            "7",
            "IllegalStateException: the compilation is closed",
            "IllegalStateException: Thalamus is closed",
            "BAD_DATA: "
                + SAMPLES.resolve("README.md")
                + " is not a model of a known format (known: ONNX, TensorFlow Lite)",
            "BAD_DATA: cut.tflite: the file is damaged: the list of buffers points outside of the"
                + " file",
            "no threads left"),
        uses(VECTORS, "two"));
    assertTrue(Files.isDirectory(directory.resolve("storage")));
  }

  @Test
  void onnxFilesRunToo() throws Exception {
    // 10 x 1 + 1 x 3, and 10 x -2 + 1 x 4, which is below 0.
    String run = "x TENSOR_FLOAT32 1x2 [13.0, 0.0]";
    String refused =
        "BAD_DATA: layer.onnx: node 1 Rely (output 'y'): nothing that is known here computes it";
    String first = "[1.0, 2.0] [1.0, 2.0]";
    String later = "[0.0, 0.0, 1.0, 2.0] [0.0, 0.0, 1.0, 2.0]";
    assertEquals(List.of(run, run, refused, first, later), uses(VECTORS, "onnx"));
  }

  /** The size in the documents, and the licences of parts whose jars have none. */
  @Test
  void theDocumentsStateTheSizeOfTheJar() throws Exception {
    double size = Files.size(jar()) / 1e6;
    for (String page : List.of("README.md", "docs/embedding.md", "docs/comparison.md")) {
      Matcher stated =
          Pattern.compile("one jar of (\\d+\\.\\d) MB")
              .matcher(Files.readString(ProjectFiles.ROOT.resolve(page)));
      assertTrue(stated.find(), page);
      // It grows by little with each change.
      assertEquals(size, Double.parseDouble(stated.group(1)), 0.15, page);
    }
    try (JarFile embedded = new JarFile(jar().toFile())) {
      for (String name : List.of("LICENSE", "licences/protobuf-javalite/BSD-3-Clause")) {
        assertNotNull(embedded.getEntry("META-INF/" + name), name);
      }
    }
  }

  @Test
  void argumentsAreNamedAndThoseThatDoNotFitAreOneLine() throws Exception {
    String picture = "picture TENSOR_QUANT8_ASYMM_SIGNED 1x28x28x1";
    assertEquals(
        List.of(
            "true",
            "BAD_DATA: " + picture + " takes 784 floats, not 5",
            "BAD_DATA: input 0 is " + picture + ", not TENSOR_FLOAT32 2x2",
            "BAD_DATA: no input is named image; the model has " + picture),
        uses(VECTORS, "inputs"));
  }

  @Test
  void devicesComeAndGoWhileANetworkIsOpen() throws Exception {
    Path npu = ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.npu.jar");
    assertEquals(
        List.of(
            "[simd, cpu]",
            "[cpu] 5",
            "[npu, cpu] 6",
            "[[cpu], [npu, cpu], [cpu], [npu, cpu]]",
            "BAD_DATA: no device npu is installed",
            "BAD_DATA: "
                + SAMPLES.resolve("digits.tflite")
                + " is no bundle: zip END header not found",
            "BAD_DATA: there is no file none.jar",
            "[cpu]"),
        uses(VECTORS, "devices", npu));
  }

  @Test
  void aProgramChangesTheSettingsOfADevice() throws Exception {
    Path npu = ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.npu.jar");
    assertEquals(
        List.of(
            "[false, true] 6",
            "[false, true, false, true]",
            "BAD_DATA: io.thalamus.npu cannot take {rows=...}..."),
        uses(VECTORS, "settings", npu));
  }

  @Test
  void devicesOfTheJarAreConfiguredAndReplacedAsBundlesAre() throws Exception {
    Path cpu = ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.cpu.jar");
    String version;
    try (JarFile jar = new JarFile(cpu.toFile())) {
      version = jar.getManifest().getMainAttributes().getValue("Bundle-Version");
    }
    Path broken = bundleThatImports("simd", "no.such.thing");
    Path late = bundleThatImports("simd", "io.thalamus.hal;version=\"[9,10)\"");
    Path next = bundleThatImports("cpu", "no.such.thing");
    assertEquals(
        List.of(
            "[[cpu], [simd, cpu]] 1",
            "BAD_DATA: io.thalamus.simd cannot take {threads=many}: threads is no number: many",
            "BAD_DATA: io.thalamus.runtime.devices cannot take {failures=0}: failures must be"
                + " positive: 0",
            "BAD_DATA: io.thalamus.simd does not start: nothing here has the package no.such.thing",
            "BAD_DATA: io.thalamus.simd does not start: it takes another version of the package"
                + " io.thalamus.hal than is here",
            "[simd, cpu] 2",
            "[simd, cpu] 3",
            "BAD_DATA: "
                + next
                + " does not start: nothing here has the package no.such.thing; version "
                + version
                + ", which was here, serves again",
            "[cpu] 4",
            "[]"),
        uses(VECTORS, "own", cpu, broken, late, next));
  }

  private Path bundleThatImports(String device, String packages) throws IOException {
    Path jar = Files.createTempFile(directory, "broken", ".jar");
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().putValue("Bundle-ManifestVersion", "2");
    manifest.getMainAttributes().putValue("Bundle-SymbolicName", "io.thalamus." + device);
    manifest.getMainAttributes().putValue("Import-Package", packages);
    new JarOutputStream(Files.newOutputStream(jar), manifest).close();
    return jar;
  }

  @Test
  void storedCompilationsAreTakenByTheNextStart() throws Exception {
    assertEquals(List.of("STORED 8", "RESTORED 8"), uses(VECTORS, "stored"));
  }

  /** Another build of a device must not take what this one stored. */
  @Test
  void compilationsOfABundleAreTakenByTheSameBundleAlone() throws Exception {
    Path npu = ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.npu.jar");
    Path other;
    try (JarFile jar = new JarFile(npu.toFile())) {
      other = copy(npu, jar.getManifest(), "another");
    }
    assertEquals(List.of("false 8", "true 8", "false 8"), uses(VECTORS, "bundles", npu, other));
  }

  private Path copy(Path original, Manifest manifest, String more) throws IOException {
    Path copy = directory.resolve("other.jar");
    try (JarFile jar = new JarFile(original.toFile());
        JarOutputStream out = new JarOutputStream(Files.newOutputStream(copy), manifest)) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
          out.putNextEntry(new JarEntry(entry.getName()));
          jar.getInputStream(entry).transferTo(out);
        }
      }
      out.putNextEntry(new JarEntry(more));
    }
    return copy;
  }

  /** Stored times are kept by version: another one of the program has the same kernels. */
  @Test
  void devicesHaveTheirVersionInAJarWithAllClassesInOne() throws Exception {
    Path npu = ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.npu.jar");
    List<String> versions = uses(VECTORS, "versions", npu);
    assertEquals(3, versions.size());
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_TITLE, "shop");
    manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, "7.3");
    Path program = copy(jar(), manifest, "Shop.class");
    Outcome outcome =
        java(
            VECTORS,
            "-cp",
            program.toString(),
            USES.toString(),
            "versions",
            SAMPLES.toString(),
            npu.toString());
    assertEquals(versions, outcome.out(), outcome::err);
  }

  /** The modules that the page names are enough, and one that is missing is named. */
  @Test
  void anImageOfTheJdkNeedsModules() throws Exception {
    Path classes = directory.resolve("classes");
    tool("javac", "-cp", jar().toString(), "-d", classes.toString(), USES.toString());
    List<String> program =
        List.of(
            "-cp",
            classes + ":" + jar(),
            "Uses",
            "versions",
            SAMPLES.toString(),
            ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.npu.jar").toString());
    Path less = directory.resolve("less");
    tool("jlink", "--add-modules", "java.base", "--output", less.toString());
    Outcome refused = java(less, program.toArray(String[]::new));
    assertTrue(
        refused.err().contains("Exception: this JVM has no module jdk.jfr: name it to jlink"),
        refused::err);
    Path enough = directory.resolve("enough");
    tool("jlink", "--add-modules", "jdk.jfr,java.xml", "--output", enough.toString());
    Outcome outcome = java(enough, program.toArray(String[]::new));
    assertEquals(2, outcome.out().size(), outcome::err);
  }

  private static void tool(String name, String... arguments) {
    StringWriter said = new StringWriter();
    PrintWriter writer = new PrintWriter(said);
    int status = ToolProvider.findFirst(name).orElseThrow().run(writer, writer, arguments);
    assertEquals(0, status, said::toString);
  }

  /** As a module, the program names what it needs, in the place of the JVM's option. */
  @Test
  void aModularProgramFindsItOnTheModulePath() throws Exception {
    Path sources = Files.createDirectories(directory.resolve("sources/digits"));
    Path module = sources.resolveSibling("module-info.java");
    Files.writeString(
        module,
        """
        module digits {
          requires io.thalamus.embedded;
          requires java.desktop;
          requires jdk.incubator.vector;
        }
        """);
    Path program = sources.resolve("Digits.java");
    Files.writeString(
        program,
        """
        package digits;

        public final class Digits {
          public static void main(String[] args) throws Exception {
            try (var thalamus = io.thalamus.embedded.Thalamus.start();
                var digits = thalamus.network(java.nio.file.Path.of(args[0]))) {
              var picture = javax.imageio.ImageIO.read(new java.io.File(args[1]));
              var answer = digits.run(picture);
              System.out.println(answer.top(1) + " on " + answer.devices());
            }
          }
        }
        """);
    Path classes = directory.resolve("classes");
    tool(
        "javac",
        "-p",
        jar().toString(),
        "-d",
        classes.toString(),
        module.toString(),
        program.toString());
    Outcome outcome =
        java(
            "-p",
            classes + ":" + jar(),
            "-m",
            "digits/digits.Digits",
            SAMPLES.resolve("digits.tflite").toString(),
            SAMPLES.resolve("digit-3.png").toString());
    assertEquals(List.of("[3 0.973] on [simd]"), outcome.out(), outcome::err);
  }

  /** In a file, and within another jar as Spring Boot has it. */
  @ParameterizedTest
  @ValueSource(strings = {"loader", "nested"})
  void theLoaderOfTheJarIsCollectedOnceItIsClosed(String kind) throws Exception {
    Outcome outcome =
        java(
            VECTORS,
            NATIVE,
            "-XX:SoftRefLRUPolicyMSPerMB=0",
            "-cp",
            jar().toString(),
            USES.toString(),
            kind,
            SAMPLES.toString(),
            jar().toString());
    assertEquals(List.of("[]", "collected"), outcome.out(), outcome::err);
    assertFalse(outcome.err().contains("Exception"), outcome::err);
  }
}
