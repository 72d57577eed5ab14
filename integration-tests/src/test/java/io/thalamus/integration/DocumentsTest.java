// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The pages for people against what is there: commands and their options, paths, and what the
 * README shows of a session. {@link PagesTest} follows the links; {@link ExamplesTest} runs the
 * README's Java.
 */
class DocumentsTest {
  private static final Pattern TIME =
      Pattern.compile("\\d[\\d.,]* (ns|us|ms|s)\\b(, cold)?( \\(median[^)]*\\))?");
  private static final Pattern SHELL = Pattern.compile("nn:([a-z][a-z-]*)([^;|'`]*)");
  private static final Pattern START =
      Pattern.compile(
          "(?:^|\\s|/)thalamus(?: --(?:json|timing|rebuild|(?:with|storage) \\S+))*"
              + " ([a-z][a-z-]*)(.*)");
  private static final Pattern OPTION = Pattern.compile("(?<=\\s)--([a-z][a-z-]*)");
  private static final Pattern PATH =
      Pattern.compile("(?<![\\w./-])((?:launcher|docs|integration-tests|cnf|bundles)/[\\w./-]+)");
  private static final Pattern PROOF =
      Pattern.compile("integration-tests/run (?:--rebuild )?([a-z][a-z-]*)");

  /** The command whose bundles start for it alone. */
  private static final String SERVE = "serve";

  /** Options of the launcher, which stand before the command. */
  private static final Set<String> FLAGS = Set.of("json", "timing", "rebuild", "version", "help");

  @TempDir Path directory;

  private static List<Path> pages() throws IOException {
    try (Stream<Path> files = Files.walk(ProjectFiles.ROOT.resolve("docs"))) {
      return Stream.concat(
              Stream.of("README.md", "CONTRIBUTING.md", "CHANGES.md")
                  .map(ProjectFiles.ROOT::resolve),
              files.filter(file -> file.toString().endsWith(".md")))
          .toList();
    }
  }

  private static String name(Path page) {
    return ProjectFiles.ROOT.relativize(page).toString();
  }

  private List<String> thalamus(String... words) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(ProjectFiles.DISTRIBUTION.resolve("bin/thalamus").toString());
    command.addAll(List.of("--storage", directory.resolve("storage").toString()));
    command.addAll(List.of(words));
    Path errors = directory.resolve("errors");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(ProjectFiles.ROOT.toFile())
            .redirectError(errors.toFile());
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.start();
    process.getOutputStream().close();
    List<String> out = new String(process.getInputStream().readAllBytes()).lines().toList();
    assertTrue(process.waitFor(5, TimeUnit.MINUTES));
    assertEquals(0, process.exitValue(), Files.readString(errors));
    return out;
  }

  /** Each command to the options that its help names. */
  private Map<String, Set<String>> commands() throws Exception {
    Path help = ProjectFiles.DISTRIBUTION.resolve("bin/help.txt");
    List<String> names =
        Files.readAllLines(help).stream()
            .dropWhile(line -> !line.startsWith("commands;"))
            .skip(1)
            .takeWhile(line -> line.startsWith("  "))
            .map(line -> line.strip().split(" ")[0])
            .toList();
    assertTrue(names.size() > 20, names::toString);
    Map<String, Set<String>> commands = new TreeMap<>();
    String asked =
        names.stream()
            .filter(name -> !name.equals(SERVE))
            .map(name -> "nn:" + name + " --help")
            .collect(Collectors.joining("\n"));
    List<String> lines = new ArrayList<>(thalamus("-c", asked));
    lines.addAll(thalamus(SERVE, "--help"));
    Set<String> options = Set.of();
    for (String line : lines) {
      if (line.startsWith("nn:")) {
        options = commands.computeIfAbsent(line.split("[ :]")[1], _ -> new TreeSet<>());
      }
      for (MatchResult option : OPTION.matcher(line).results().toList()) {
        options.add(option.group(1));
      }
    }
    assertEquals(Set.copyOf(names), commands.keySet());
    return commands;
  }

  @Test
  void commandsAndTheirOptionsExist() throws Exception {
    Map<String, Set<String>> commands = commands();
    List<String> wrong = new ArrayList<>();
    Map<String, Integer> found = new HashMap<>();
    for (Path page : pages()) {
      for (String line : Files.readAllLines(page)) {
        // A remark stands behind two spaces.
        String code = line.replaceFirst("^ +", "").replaceFirst(" {2,}.*", "");
        List<MatchResult> calls = new ArrayList<>(SHELL.matcher(code).results().toList());
        if (line.startsWith("    ") || line.contains("`./thalamus ")) {
          START.matcher(code.replace("`", " ")).results().forEach(calls::add);
        }
        for (MatchResult call : calls) {
          String command = call.group(call.groupCount() - 1);
          String rest = call.group(call.groupCount()).split(" -- ")[0];
          found.merge(name(page), 1, Integer::sum);
          if (!commands.containsKey(command)) {
            wrong.add(name(page) + ": no command " + command + " in: " + line.strip());
            continue;
          }
          for (MatchResult option : OPTION.matcher(rest).results().toList()) {
            String word = option.group(1);
            if (!commands.get(command).contains(word) && !FLAGS.contains(word)) {
              wrong.add(name(page) + ": " + command + " has no --" + word);
            }
          }
        }
      }
    }
    assertEquals(List.of(), wrong);
    assertTrue(found.getOrDefault("README.md", 0) > 5, found::toString);
    assertTrue(found.getOrDefault("docs/failures.md", 0) > 10, found::toString);
  }

  @Test
  void pathsAndProofsExist() throws Exception {
    StringBuilder proofs = new StringBuilder();
    proofs.append(Files.readString(ProjectFiles.ROOT.resolve("integration-tests/run")));
    Path sources =
        ProjectFiles.ROOT.resolve("integration-tests/src/test/java/io/thalamus/integration/run");
    try (Stream<Path> files = Files.list(sources)) {
      for (Path file : files.toList()) {
        proofs.append(Files.readString(file).replace('"', ' '));
      }
    }
    List<String> wrong = new ArrayList<>();
    for (Path page : pages()) {
      for (String line : Files.readAllLines(page)) {
        for (MatchResult proof : PROOF.matcher(line).results().toList()) {
          if (!proofs.toString().contains(" " + proof.group(1) + " ")) {
            wrong.add(name(page) + ": no proof " + proof.group(1));
          }
        }
        for (MatchResult path : PATH.matcher(line).results().toList()) {
          String given = path.group(1).replaceFirst("[./]+$", "");
          boolean isMade = given.contains("/target") || given.endsWith("/NAME");
          if (!isMade && !Files.exists(ProjectFiles.ROOT.resolve(given))) {
            wrong.add(name(page) + ": no file " + given);
          }
        }
      }
    }
    assertEquals(List.of(), wrong);
  }

  private static String readme() throws IOException {
    return Files.readString(ProjectFiles.ROOT.resolve("README.md"));
  }

  /** Times are of the machine; files are shown from the root of the project. */
  private static List<String> general(Stream<String> lines) {
    return lines
        .map(line -> TIME.matcher(line).replaceAll("TIME"))
        .map(line -> line.replace(ProjectFiles.ROOT + "/", "").stripTrailing())
        .filter(line -> !line.isEmpty())
        .toList();
  }

  /** Returns an indented block without its indentation, from a line on. */
  private static List<String> block(String page, String first) {
    List<String> lines = page.lines().toList();
    int start = lines.indexOf("    " + first);
    assertTrue(start >= 0, () -> "no line " + first);
    return lines.subList(start, lines.size()).stream()
        .takeWhile(line -> line.isEmpty() || line.startsWith("    "))
        .map(line -> line.isEmpty() ? "" : line.substring(4))
        .toList();
  }

  @Test
  void theFirstCommandOfTheReadmeTellsTheDigit() throws Exception {
    String readme = readme();
    Matcher command = Pattern.compile("\\./thalamus run (.+) \\\\\\s+(.+)\\n").matcher(readme);
    assertTrue(command.find());
    String words = "run " + command.group(1) + " " + command.group(2);
    List<String> shown = general(block(readme, "3  97.3 %  " + "█".repeat(38) + "▉").stream());
    assertEquals(shown, general(thalamus(words.split(" ")).stream()));
    assertTrue(readme.contains(" ms, cold: 9 operations on x86"));
  }

  @Test
  void theSessionOfTheReadmeIsPlayed() throws Exception {
    String prompt = "thalamus> ";
    List<String> shown = block(readme(), "$ ./thalamus --with cpu");
    String commands =
        shown.stream()
            .filter(line -> line.startsWith(prompt))
            .map(line -> line.substring(prompt.length()))
            .collect(Collectors.joining("\n"));
    assertEquals(7, commands.lines().count());
    // Only a terminal is informed of jobs in the background.
    Stream<String> answers =
        shown.stream().skip(1).filter(line -> !line.startsWith(prompt) && !line.startsWith("[1] "));
    assertEquals(general(answers), general(thalamus("--with", "cpu", "-c", commands).stream()));
  }
}
