// SPDX-License-Identifier: Apache-2.0

import com.google.googlejavaformat.java.Formatter;
import com.google.googlejavaformat.java.FormatterException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The style rules over every Java file below the working directory: {@code check} lists what breaks
 * them and fails, {@code format} rewrites the layout and then checks the rest. A rule that a file
 * has a reason to break is lifted for that file in {@code cnf/style-exceptions.txt}.
 */
final class Style {
  private static final int MAX_LINES = 600;
  private static final String LICENCE = "// SPDX-License-Identifier: Apache-2.0";
  private static final Set<String> SKIPPED = Set.of("target", "bin", ".git", ".mvn", ".idea");

  /** Rule name to what must not occur in code, comments left aside. */
  private static final Map<String, Pattern> FORBIDDEN =
      Map.of(
          "set-property", Pattern.compile("System\\.setProperty"),
          "class-for-name", Pattern.compile("Class\\.forName"),
          "parallel-stream", Pattern.compile("parallelStream\\(|\\.parallel\\(\\)|commonPool\\("),
          "catch-throwable", Pattern.compile("catch \\((final )?Throwable"),
          "machine-path", Pattern.compile("\"/(home|root|work|Users)/"));

  private final Path root;
  private final boolean rewrite;
  private final Map<String, List<String>> exceptions;
  private final List<String> findings = new ArrayList<>();
  private final Formatter formatter = new Formatter();

  private Style(Path root, boolean rewrite) throws IOException {
    this.root = root;
    this.rewrite = rewrite;
    this.exceptions = Exceptions.read(root.resolve("cnf/style-exceptions.txt"));
  }

  public static void main(String[] args) throws IOException {
    if (args.length != 1 || !Set.of("check", "format").contains(args[0])) {
      System.err.println("usage: java cnf/Style.java check|format");
      System.exit(2);
    }
    Style style = new Style(Path.of("").toAbsolutePath(), args[0].equals("format"));
    List<Path> files = style.files();
    files.forEach(style::look);
    if (style.findings.isEmpty()) {
      System.out.println("style: " + files.size() + " files, nothing to mend");
      return;
    }
    style.findings.forEach(System.err::println);
    System.err.println(
        "style: " + style.findings.size() + " findings; ./mvnw -f cnf -Pformat mends layout");
    System.exit(1);
  }

  private List<Path> files() throws IOException {
    List<Path> files = new ArrayList<>();
    Files.walkFileTree(
        root,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) {
            return SKIPPED.contains(String.valueOf(dir.getFileName()))
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (file.toString().endsWith(".java")) {
              files.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    files.sort(null);
    return files;
  }

  private void look(Path file) {
    String name = root.relativize(file).toString().replace('\\', '/');
    try {
      String text = Files.readString(file);
      layout(name, file, text);
      rules(name, text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void layout(String name, Path file, String text) throws IOException {
    try {
      String formatted = formatter.formatSourceAndFixImports(text);
      if (formatted.equals(text)) {
        return;
      }
      if (rewrite) {
        Files.writeString(file, formatted);
        System.out.println("formatted " + name);
      } else {
        findings.add(name + ": layout differs from google-java-format");
      }
    } catch (FormatterException e) {
      findings.add(name + ": cannot be parsed: " + e.getMessage());
    }
  }

  private void rules(String name, String text) {
    List<String> lifted = exceptions.getOrDefault(name, List.of());
    List<String> lines = text.lines().toList();
    if (!text.startsWith(LICENCE)) {
      findings.add(name + ":1: the first line must be " + LICENCE);
    }
    if (lines.size() > MAX_LINES && !lifted.contains("long-file")) {
      findings.add(name + ": " + lines.size() + " lines, more than " + MAX_LINES + " (long-file)");
    }
    if (name.equals("cnf/Style.java")) {
      return; // it names what it forbids
    }
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (line.startsWith("//") || line.startsWith("*") || line.startsWith("/*")) {
        continue;
      }
      for (Map.Entry<String, Pattern> rule : FORBIDDEN.entrySet()) {
        if (!lifted.contains(rule.getKey()) && rule.getValue().matcher(line).find()) {
          findings.add(name + ":" + (i + 1) + ": " + rule.getKey() + ": " + line);
        }
      }
    }
  }

  /** Lines of the form {@code path rule reason...}; the reason is required. */
  private static final class Exceptions {
    static Map<String, List<String>> read(Path file) throws IOException {
      Map<String, List<String>> lifted = new java.util.TreeMap<>();
      for (String line : Files.readAllLines(file)) {
        if (line.isBlank() || line.startsWith("#")) {
          continue;
        }
        String[] fields = line.strip().split("\\s+", 3);
        if (fields.length < 3) {
          throw new IllegalArgumentException("style-exceptions.txt: no reason given: " + line);
        }
        lifted.computeIfAbsent(fields[0], key -> new ArrayList<>()).add(fields[1]);
      }
      return lifted;
    }
  }
}
