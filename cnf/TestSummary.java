// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;

/**
 * The gate of the in-framework tests, whose runner tells no counts: {@code clear DIR} forgets the
 * reports of an earlier run, {@code check DIR NAME,NAME} adds up those of this one, for each name
 * of a run, and fails where a test failed or a run had none.
 */
final class TestSummary {
  private TestSummary() {}

  public static void main(String[] args) throws Exception {
    Path directory = Path.of(args[1]);
    if (args[0].equals("clear")) {
      clear(directory);
    } else {
      boolean passed = true;
      for (String run : args[2].split(",")) {
        passed &= check(directory, run);
      }
      if (!passed) {
        System.out.println("see " + directory);
        System.exit(1);
      }
    }
  }

  private static void clear(Path directory) throws IOException {
    if (Files.isDirectory(directory)) {
      try (Stream<Path> paths = Files.walk(directory)) {
        for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(path);
        }
      }
    }
  }

  private static boolean check(Path directory, String run) throws Exception {
    Path folder = directory.resolve(run);
    List<Path> reports = List.of();
    if (Files.isDirectory(folder)) {
      try (Stream<Path> paths = Files.walk(folder)) {
        reports = paths.filter(path -> path.toString().endsWith(".xml")).sorted().toList();
      }
    }
    int tests = 0;
    int failed = 0;
    int skipped = 0;
    for (Path report : reports) {
      var cases =
          DocumentBuilderFactory.newInstance()
              .newDocumentBuilder()
              .parse(report.toFile())
              .getElementsByTagName("testcase");
      for (int i = 0; i < cases.getLength(); i++) {
        Element test = (Element) cases.item(i);
        tests++;
        if (has(test, "skipped")) {
          skipped++;
        }
        if (has(test, "failure") || has(test, "error")) {
          failed++;
          System.out.println("FAILED " + test.getAttribute("classname") + " " + name(test));
        }
      }
    }
    System.out.println(
        "IN-FRAMEWORK TOTAL  "
            + run
            + "  Tests run: "
            + tests
            + ", Failures: "
            + failed
            + ", Skipped: "
            + skipped);
    return failed == 0 && tests > 0;
  }

  private static String name(Element test) {
    String text = test.getTextContent().strip();
    return test.getAttribute("name") + ": " + text.lines().findFirst().orElse("");
  }

  private static boolean has(Element element, String child) {
    return element.getElementsByTagName(child).getLength() > 0;
  }
}
