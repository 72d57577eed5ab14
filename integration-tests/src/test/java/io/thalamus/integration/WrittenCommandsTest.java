// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The indented lines of the pages that begin with {@code ./thalamus}: each is run as it is written,
 * with the sample in the place of {@code MODEL} and the like, or has a reason here why not. Plain
 * commands with the same options share a process, which reads them from standard input.
 */
class WrittenCommandsTest {
  /** Part of a line, to the reason why it is not run here. */
  private static final Map<String, String> NOT_RUN =
      Map.ofEntries(
          Map.entry("--rebuild", "it builds the distribution that the tests use"),
          Map.entry("certify cpu", "it takes minutes; ExamplesTest certifies a device"),
          Map.entry("../shared/", "it needs models or vectors that the project does not bring"),
          Map.entry("new-device abacus", "ExamplesTest runs it, and what follows in the shell"),
          Map.entry("../abacus/", "ExamplesTest runs it"),
          Map.entry("docs/examples/", "ExamplesTest builds that example and runs the same"),
          Map.entry("tour.gogo", "ShellTest runs it, and looks at what it prints"),
          Map.entry("--top 2 --repeat 2000", "DocumentsTest plays it, and compares the answers"),
          Map.entry("serve --models", "it serves until it is ended; ServingManifestTest does that"),
          Map.entry("| jq", "jq is not everywhere; ShellTest reads the same JSON"),
          Map.entry(
              "--rate 1000 --seconds 8", "it takes eight seconds; LifeTest runs a shorter one"));

  private static final Pattern START = Pattern.compile(" {4}(?:\\$ )?\\./thalamus( .*|$)");
  private static final Pattern OPTIONS =
      Pattern.compile("((?:--with \\S+ ?|--json ?)*)(.*)", Pattern.DOTALL);
  private static final String PROMPT = "    thalamus> ";
  private static final String MARK = "line of ";

  /** The report of simd on a machine that is busy with other work; no failure. */
  private static final String SLOW = "thalamus: vectors are no faster";

  @TempDir Path directory;

  /**
   * A line with those that it goes on in.
   *
   * @param options those before the command
   * @param command empty for the shell
   * @param typed lines for the shell
   */
  private record Call(String page, String options, String command, List<String> typed) {
    String text() {
      return "./thalamus " + options + command + String.join("\n", typed);
    }

    boolean isPlain() {
      return command.matches("[a-z][^'\"|&;<>$]*");
    }
  }

  private static List<Path> pages() throws IOException {
    try (Stream<Path> files = Files.walk(ProjectFiles.ROOT.resolve("docs"))) {
      return Stream.concat(
              Stream.of("README.md", "CONTRIBUTING.md").map(ProjectFiles.ROOT::resolve),
              files.filter(file -> file.toString().endsWith(".md")).sorted())
          .toList();
    }
  }

  private static List<Call> calls(Path page) throws IOException {
    List<Call> calls = new ArrayList<>();
    List<String> lines = Files.readAllLines(page);
    for (int i = 0; i < lines.size(); i++) {
      Matcher start = START.matcher(lines.get(i));
      if (!start.matches()) {
        continue;
      }
      // A remark stands behind two spaces.
      String text = start.group(1).strip().replaceFirst(" {2,}.*", "");
      while (text.endsWith("\\") || text.endsWith("|") || hasOpenQuote(text)) {
        text = text.replaceFirst("\\\\$", "").strip() + " " + lines.get(++i).strip();
      }
      Matcher parts = OPTIONS.matcher(text);
      assertTrue(parts.matches());
      List<String> typed = new ArrayList<>();
      for (int next = i + 1; parts.group(2).isEmpty() && isInBlock(lines, next); next++) {
        if (lines.get(next).startsWith(PROMPT)) {
          typed.add(lines.get(next).substring(PROMPT.length()).replaceFirst(" {2,}.*", ""));
        }
      }
      String name = ProjectFiles.ROOT.relativize(page).toString();
      calls.add(new Call(name, parts.group(1).strip(), parts.group(2), typed));
    }
    return calls;
  }

  private static boolean hasOpenQuote(String text) {
    return text.replaceAll("'[^']*'|\"[^\"]*\"", "").matches("(?s).*['\"].*");
  }

  private static boolean isInBlock(List<String> lines, int index) {
    return index < lines.size()
        && (lines.get(index).isEmpty() || lines.get(index).startsWith("    "))
        && !START.matcher(lines.get(index)).matches();
  }

  /** A folder that looks like the project's to whoever types the commands there. */
  @BeforeEach
  void lay() throws IOException {
    Path samples = ProjectFiles.DISTRIBUTION.resolve("samples/digits");
    Path digits = Files.createDirectories(directory.resolve("launcher/samples/digits"));
    try (Stream<Path> files = Files.list(samples)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Files.copy(file, digits.resolve(file.getFileName()));
      }
    }
    Files.copy(samples.resolve("digits.tflite"), directory.resolve("MODEL.tflite"));
    Files.copy(samples.resolve("digits.tflite"), directory.resolve("MODEL"));
    Files.copy(samples.resolve("digit-3.png"), directory.resolve("PICTURE"));
    Files.copy(samples.resolve("labels.txt"), directory.resolve("labels.txt"));
    Files.write(directory.resolve("input.npy"), npy(28 * 28));
  }

  /** A NumPy file with bytes of the shape of a digit. */
  private static byte[] npy(int size) {
    String header = "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 28, 28, 1), }";
    header += " ".repeat(128 - 10 - header.length() - 1) + "\n";
    byte[] file = new byte[128 + size];
    byte[] magic = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
    System.arraycopy(magic, 0, file, 0, magic.length);
    System.arraycopy(header.getBytes(StandardCharsets.US_ASCII), 0, file, 10, header.length());
    return file;
  }

  private record Outcome(int status, String said) {}

  /** Runs a shell's text in the folder, where {@code ./thalamus} has a storage of its own. */
  private Outcome run(String text, String typed) throws Exception {
    Path start = directory.resolve("thalamus");
    if (!Files.exists(start)) {
      Files.writeString(
          start,
          "#!/bin/sh\nexec '%s' --storage '%s' \"$@\"\n"
              .formatted(
                  ProjectFiles.DISTRIBUTION.resolve("bin/thalamus"), directory.resolve("storage")));
      assertTrue(start.toFile().setExecutable(true));
    }
    Path said = Files.createTempFile(directory, "said", ".txt");
    ProcessBuilder builder =
        new ProcessBuilder("sh", "-c", text)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile());
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.start();
    process.getOutputStream().write(typed.getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().close();
    if (!process.waitFor(5, TimeUnit.MINUTES)) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      throw new AssertionError("does not end: " + text + "\n" + Files.readString(said));
    }
    return new Outcome(process.exitValue(), Files.readString(said));
  }

  /** Says what went wrong with lines of standard input, by the marks that they print. */
  private static List<String> failures(String said) {
    List<String> failures = new ArrayList<>();
    String line = "";
    for (String text : said.lines().toList()) {
      line = text.startsWith(MARK) ? text.substring(MARK.length()) : line;
      if (text.startsWith("thalamus: ") && !text.startsWith(SLOW)) {
        failures.add(line + " -> " + text);
      }
    }
    return failures;
  }

  @Test
  void eachLineRunsAsWrittenOrHasAReason() throws Exception {
    Set<String> reasons = new TreeSet<>();
    Map<String, StringBuilder> plain = new LinkedHashMap<>();
    List<Call> others = new ArrayList<>();
    int count = 0;
    for (Path page : pages()) {
      for (Call call : calls(page)) {
        Set<String> why = new TreeSet<>(NOT_RUN.keySet());
        why.removeIf(part -> !call.text().contains(part));
        reasons.addAll(why);
        if (!why.isEmpty()) {
          continue;
        }
        count++;
        if (call.isPlain()) {
          plain
              .computeIfAbsent(call.options(), _ -> new StringBuilder())
              .append("echo '" + MARK + call.page() + ": " + call.text() + "'\n")
              .append("nn:" + call.command() + "\n");
        } else {
          others.add(call);
        }
      }
    }
    List<String> wrong = new ArrayList<>();
    for (Map.Entry<String, StringBuilder> group : plain.entrySet()) {
      Outcome outcome = run("./thalamus " + group.getKey(), group.getValue().toString());
      wrong.addAll(failures(outcome.said()));
      if (outcome.status() != 0 && failures(outcome.said()).isEmpty()) {
        wrong.add(outcome.toString());
      }
    }
    for (Call call : others) {
      String typed = String.join("\n", call.typed());
      Outcome outcome = run("./thalamus " + call.options() + " " + call.command(), typed);
      if (outcome.status() != 0) {
        wrong.add(call.page() + ": " + call.text() + " -> " + outcome);
      }
    }
    assertEquals(List.of(), wrong);
    assertEquals(NOT_RUN.keySet(), reasons, "a reason without a line");
    assertTrue(count > 15, "only " + count + " lines were found");
  }
}
