// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.LoadedModel;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Reasons;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The names of classes. Immutable.
 *
 * @param names one for each class; empty where none are known
 * @param asked whether the user named them, so that it is an error where they do not fit
 * @param source where they come from, for people
 */
record Labels(List<String> names, boolean asked, String source) {
  private static final String BESIDE = "labels.txt";

  /**
   * Returns those that the user names, else the model file's, else {@code labels.txt} beside it.
   */
  static Labels find(LoadedModel model, Invocation invocation) {
    Optional<String> word = invocation.arguments().text("labels");
    if (word.isPresent()) {
      return new Labels(read(invocation.path(word.get())), true, word.get());
    }
    if (!model.file().labels().isEmpty()) {
      return new Labels(model.file().labels(), false, "the model file");
    }
    Path beside = model.path().resolveSibling(BESIDE);
    if (Files.isRegularFile(beside)) {
      return new Labels(read(beside), false, beside.toString());
    }
    return new Labels(List.of(), false, "");
  }

  /**
   * Returns the names for so many classes, or none where these are of something else.
   *
   * @throws CommandException where the user named them and they do not fit
   */
  List<String> of(long classes) {
    if (names.size() == classes) {
      return names;
    }
    if (asked) {
      throw new CommandException(
          "--labels %s: %s labels, but the model has %s classes"
              .formatted(source, names.size(), classes));
    }
    return List.of();
  }

  private static List<String> read(Path file) {
    try {
      List<String> lines = Files.readAllLines(file).stream().map(String::strip).toList();
      int end = lines.size();
      while (end > 0 && lines.get(end - 1).isEmpty()) {
        end--;
      }
      return lines.subList(0, end);
    } catch (CharacterCodingException e) {
      throw new CommandException("cannot read " + file + ": it is not text in UTF-8", e);
    } catch (IOException e) {
      throw new CommandException("cannot read " + file + ": " + Reasons.of(e), e);
    }
  }
}
