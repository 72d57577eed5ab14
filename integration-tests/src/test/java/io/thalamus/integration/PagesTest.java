// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The pages of the project: links lead somewhere, and each page is reached from the README. */
class PagesTest {
  private static final Pattern LINK = Pattern.compile("!?\\[[^\\]]*\\]\\(([^)\\s]+)\\)");
  private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```|`[^`\n]*`");
  private static final Set<String> NOT_OURS = Set.of("target", "node_modules");

  @Test
  void linksLeadToFilesAndHeadings() throws IOException {
    List<String> dead = new ArrayList<>();
    int count = 0;
    for (Path page : pages()) {
      for (String link : links(page)) {
        count++;
        String file = link.replaceFirst("#.*", "");
        Path target = file.isEmpty() ? page : page.resolveSibling(file).normalize();
        String place = ProjectFiles.ROOT.relativize(page) + ": " + link;
        if (!Files.exists(target)) {
          dead.add(place);
        } else if (link.contains("#")
            && !anchors(target).contains(link.substring(link.indexOf('#') + 1))) {
          dead.add(place + " (no such heading)");
        }
      }
    }
    assertEquals(List.of(), dead);
    assertTrue(count > 50, "few links were found");
  }

  @Test
  void everyPageIsReachedFromTheReadme() throws IOException {
    Set<Path> reached = new HashSet<>();
    reach(ProjectFiles.ROOT.resolve("README.md"), reached);
    List<Path> docs =
        pages().stream().filter(p -> p.startsWith(ProjectFiles.ROOT.resolve("docs"))).toList();
    assertTrue(docs.size() > 15, () -> "only " + docs);
    assertEquals(List.of(), docs.stream().filter(p -> !reached.contains(p)).toList());
  }

  private static void reach(Path page, Set<Path> reached) throws IOException {
    if (reached.add(page)) {
      for (String link : links(page)) {
        Path target = page.resolveSibling(link.replaceFirst("#.*", "")).normalize();
        if (target.toString().endsWith(".md") && Files.exists(target)) {
          reach(target, reached);
        }
      }
    }
  }

  /** Relative links; code may hold brackets that are none. */
  private static List<String> links(Path page) throws IOException {
    String text = CODE.matcher(Files.readString(page)).replaceAll("code");
    return LINK.matcher(text)
        .results()
        .map(result -> result.group(1))
        .filter(link -> !link.matches("[a-z]+:.*"))
        .toList();
  }

  /** The anchors that GitHub gives to headings: a repeated one is numbered. */
  private static Set<String> anchors(Path page) throws IOException {
    TreeMap<String, Integer> seen = new TreeMap<>();
    Set<String> anchors = new HashSet<>();
    Matcher headings =
        Pattern.compile("(?m)^#+ +(.*)$")
            .matcher(Files.readString(page).replaceAll("(?ms)^```.*?^```", ""));
    for (MatchResult heading : headings.results().toList()) {
      String text = heading.group(1).strip().toLowerCase(Locale.ROOT);
      String anchor = text.replaceAll("[^\\p{L}\\p{N}_ -]", "").replace(' ', '-');
      int times = seen.merge(anchor, 1, Integer::sum);
      anchors.add(times == 1 ? anchor : anchor + "-" + (times - 1));
    }
    return anchors;
  }

  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>();
    Files.walkFileTree(
        ProjectFiles.ROOT,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String name = folder.getFileName().toString();
            return NOT_OURS.contains(name) || name.startsWith(".")
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (file.toString().endsWith(".md")) {
              pages.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return pages;
  }
}
