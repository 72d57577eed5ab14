// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import io.thalamus.console.CommandException;
import io.thalamus.console.Reasons;
import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.FileLocks;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/**
 * Commands that each process runs again when it begins: the lines of the file {@code kept} in the
 * storage. A line is what it is about and the words of a command, with tabs between them.
 * Thread-safe, and safe among processes.
 */
@Component(service = Kept.class)
public final class Kept {
  private static final Duration PATIENCE = Duration.ofSeconds(5);
  private static final String MODEL = "model ";
  private static final String SETTING = "setting ";
  private static final String INSTALL = "install";
  private static final String UPDATE = "update";
  private static final String UNINSTALL = "uninstall";

  private final Optional<Path> file;

  /**
   * Called by the component runtime.
   *
   * @param context tells the storage
   */
  @Activate
  public Kept(BundleContext context) {
    this(Optional.ofNullable(context.getProperty("thalamus.storage")).map(Path::of));
  }

  private Kept(Optional<Path> storage) {
    file = storage.map(folder -> folder.resolve("kept"));
  }

  /** Returns what a storage directory keeps. */
  public static Kept in(Path storage) {
    return new Kept(Optional.of(storage));
  }

  /** A command, and the model or bundle that it is about. */
  private record Line(String about, List<String> words) {
    static Line of(String text) {
      List<String> cells = List.of(text.split("\t"));
      return new Line(cells.getFirst(), cells.subList(1, cells.size()));
    }

    boolean isAbout(String name) {
      return about.equals(name);
    }

    boolean isOfBundle() {
      return !about.startsWith(MODEL) && !about.startsWith(SETTING);
    }

    boolean is(String command) {
      return words.getFirst().equals(command);
    }

    String text() {
      return about + "\t" + String.join("\t", words);
    }
  }

  /** Returns the file. */
  public String file() {
    return file.map(Path::toString).orElse("no storage directory");
  }

  /**
   * Returns the words of each command to begin with; none where the file cannot be read.
   *
   * @param withBundles whether those about bundles are wanted
   */
  public List<List<String>> commands(boolean withBundles) {
    try {
      return lines().stream()
          .filter(line -> withBundles || !line.isOfBundle())
          .map(Line::words)
          .toList();
    } catch (IOException e) {
      return List.of();
    }
  }

  private List<Line> lines() throws IOException {
    if (file.isEmpty()) {
      return new ArrayList<>();
    }
    try {
      return new ArrayList<>(
          Files.readAllLines(file.get()).stream()
              .filter(line -> line.contains("\t"))
              .map(Line::of)
              .toList());
    } catch (NoSuchFileException nothingIsKept) {
      return new ArrayList<>();
    }
  }

  /** Keeps a loaded model, in the place of an earlier one of this name. */
  public void load(String name, List<String> words) {
    keep(MODEL + name, words, List::addLast);
  }

  /** Keeps a model no more. */
  public void unload(String name) {
    forget(MODEL + name);
  }

  /**
   * Keeps a setting, in the place of an earlier value. Settings come first, so that what follows
   * begins with them.
   */
  public void set(String name, List<String> words) {
    keep(SETTING + name, words, List::addFirst);
  }

  /** Keeps a setting no more. */
  public void reset(String name) {
    forget(SETTING + name);
  }

  /** Keeps a command in the place of an earlier one about the same. */
  private void keep(String about, List<String> words, BiConsumer<List<Line>, Line> place) {
    change(
        lines -> {
          lines.removeIf(line -> line.isAbout(about));
          place.accept(lines, new Line(about, words));
        });
  }

  private void forget(String about) {
    change(lines -> lines.removeIf(line -> line.isAbout(about)));
  }

  /**
   * Keeps an installed bundle.
   *
   * @param isUsual whether it is the distribution's: then that it was uninstalled is forgotten
   */
  public void install(String bundle, boolean isUsual, List<String> words) {
    change(
        lines -> {
          boolean isBack =
              isUsual && lines.removeIf(line -> line.isAbout(bundle) && line.is(UNINSTALL));
          if (!isBack) {
            lines.add(new Line(bundle, concat(INSTALL, words)));
          }
        });
  }

  /** Keeps an update of a bundle, in the place of an earlier one. */
  public void update(String bundle, Path jar) {
    change(
        lines -> {
          lines.removeIf(line -> line.isAbout(bundle) && line.is(UPDATE));
          lines.add(new Line(bundle, List.of(UPDATE, bundle, jar.toString())));
        });
  }

  /** Keeps an installed bundle no more, or else that it was uninstalled. */
  public void uninstall(String bundle) {
    change(
        lines -> {
          lines.removeIf(line -> line.isAbout(bundle) && line.is(UPDATE));
          if (!lines.removeIf(line -> line.isAbout(bundle) && line.is(INSTALL))) {
            lines.add(new Line(bundle, List.of(UNINSTALL, bundle)));
          }
        });
  }

  private static List<String> concat(String first, List<String> rest) {
    List<String> words = new ArrayList<>(List.of(first));
    words.addAll(rest);
    return words;
  }

  private void change(Consumer<List<Line>> change) {
    Path kept =
        file.orElseThrow(
            () -> new CommandException("there is no storage directory here to keep it in"));
    try {
      Files.createDirectories(kept.getParent());
      Path lock = kept.resolveSibling("kept.lock");
      try (FileChannel channel =
              FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
          FileLock _ = FileLocks.lock(channel, lock, PATIENCE)) {
        List<Line> lines = lines();
        change.accept(lines);
        List<String> texts = lines.stream().map(Line::text).toList();
        AtomicFiles.replace(kept, fresh -> Files.write(fresh, texts));
      }
    } catch (IOException e) {
      throw new CommandException("cannot keep it in " + kept + ": " + Reasons.of(e), e);
    }
  }
}
