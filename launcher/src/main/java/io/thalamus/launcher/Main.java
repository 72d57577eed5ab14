// SPDX-License-Identifier: Apache-2.0
package io.thalamus.launcher;

import java.io.BufferedOutputStream;
import java.io.Console;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.zip.CRC32;
import org.osgi.framework.BundleException;

/** The entry point: one process, one container, one exit status (0 done, 1 failed, 2 usage). */
public final class Main {
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  /** The bundle that watches the deploy folder. */
  private static final String WATCHER = "org.apache.felix.fileinstall.jar";

  /** The standard output of the process, which remembers what a {@code PrintStream} swallows. */
  private static final class Output extends FileOutputStream {
    private volatile IOException failure;

    Output() {
      super(FileDescriptor.out);
    }

    @Override
    public void write(byte[] bytes, int from, int count) throws IOException {
      try {
        super.write(bytes, from, count);
      } catch (IOException e) {
        failure = e;
        throw e;
      }
    }

    /** Reports a result that was lost; a reader that wanted no more of it has lost nothing. */
    int status(int status, PrintStream err) {
      IOException lost = failure;
      if (lost == null || "Broken pipe".equals(lost.getMessage())) {
        return status;
      }
      err.println("thalamus: standard output cannot be written: " + lost.getMessage());
      return status == 0 ? FAILED : status;
    }
  }

  private final Path home;
  private final PrintStream out;
  private final PrintStream err;
  private final Timing timing;
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile int status;

  private Main(Path home, PrintStream out, PrintStream err, Timing timing) {
    this.home = home;
    this.out = out;
    this.err = err;
    this.timing = timing;
  }

  /**
   * Runs the container and ends the process.
   *
   * @param arguments the command line; the system properties {@code thalamus.home} (the
   *     distribution), {@code thalamus.started} (epoch nanoseconds) and {@code thalamus.errors}
   *     (what to open as standard error) come from the start script
   */
  public static void main(String[] arguments) {
    String started = System.getProperty("thalamus.started", "");
    Timing timing = new Timing(started.isEmpty() ? Timing.now() : Long.parseLong(started));
    timing.lap("jvm");
    Path home = Path.of(System.getProperty("thalamus.home", "."));
    takeUpStandardError(System.getProperty("thalamus.errors", ""));
    Output output = new Output();
    // Bundles may replace System.out; the end of the process flushes what was there before.
    PrintStream out = new PrintStream(new BufferedOutputStream(output), true, System.out.charset());
    System.setOut(out);
    PrintStream err = System.err;
    Main main = new Main(home, out, err, timing);
    int ran = main.run(List.of(arguments), !started.isEmpty());
    out.flush();
    main.status = output.status(ran, err);
    System.out.flush();
    System.err.flush();
    main.ended.countDown();
    // At once: an orderly stop of the framework costs more than most commands.
    System.exit(main.status);
  }

  /**
   * Opening a file again would begin at its first byte, over what others have written: where both
   * streams go to one place, they share standard output's own position, and a file of its own is
   * appended to.
   */
  private static void takeUpStandardError(String file) {
    if (file.isEmpty()) {
      return;
    }
    try {
      boolean shared = Files.isSameFile(Path.of(file), Path.of("/dev/fd/1"));
      FileOutputStream stream =
          shared ? new FileOutputStream(FileDescriptor.out) : new FileOutputStream(file, true);
      System.setErr(new PrintStream(stream, true, StandardCharsets.UTF_8));
    } catch (IOException e) {
      System.out.println("thalamus: standard error is lost: " + e.getMessage());
    }
  }

  private int run(List<String> arguments, boolean timingWanted) {
    try {
      Options options = Options.parse(arguments, timingWanted);
      return switch (options.mode()) {
        case HELP -> print(Files.readString(home.resolve("bin/help.txt")).stripTrailing());
        case VERSION -> print("thalamus " + Files.readString(home.resolve("bin/version")).strip());
        case ISOLATED -> isolated(options);
        default -> container(options);
      };
    } catch (Options.UsageException e) {
      err.println("thalamus: " + e.getMessage());
      return USAGE;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return FAILED;
    } catch (IOException | BundleException | RuntimeException | Error e) {
      // Whatever it is: threads of the framework would keep a process that nobody ends.
      err.println("thalamus: cannot start: " + e);
      return FAILED;
    }
  }

  /**
   * Has the process end with the status of its command although it was asked to end by a signal.
   * The command hears of that by a shutdown hook of its own, and returns when it is done.
   */
  private void endWithOwnStatus() {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    ended.await();
                    Runtime.getRuntime().halt(status);
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                },
                "thalamus-exit"));
  }

  private static int print(String text) {
    System.out.println(text);
    return 0;
  }

  private int container(Options options)
      throws Options.UsageException, IOException, BundleException, InterruptedException {
    boolean stays = options.level() >= Distribution.INTERACTIVE_LEVEL;
    Distribution distribution = Distribution.at(home);
    List<Distribution.Item> wanted = distribution.chosen(options.devices());
    Path storage = options.storage().orElseGet(Main::defaultStorage).toAbsolutePath();
    Slot slot = Slot.take(storage.resolve("framework").resolve(digest(home)), home);
    if (stays && !hasDeployFolder(storage.resolve("deploy"))) {
      wanted = wanted.stream().filter(item -> !item.file().endsWith(WATCHER)).toList();
    }
    Map<String, String> properties = properties(storage, slot, options);
    Container container;
    try {
      container = filled(slot, distribution, wanted, properties, options.level());
    } catch (IOException | BundleException e) {
      if (slot.isTemporary()) {
        throw e;
      }
      // A storage that is full takes the lock of a slot and not its bundles.
      err.println(
          "thalamus: " + storage + " cannot be written, so the bundle cache is a temporary one");
      slot = Slot.temporary();
      container = filled(slot, distribution, wanted, properties, options.level());
    }
    timing.lap("framework");
    if (options.isServer()) {
      endWithOwnStatus();
    }
    container.start(options.devices().isPresent());
    timing.lap("bundles");
    container.problems().forEach(problem -> err.println("thalamus: " + problem));
    int result = container.run(request(options));
    if (stays || container.isNew()) {
      container.stop();
    }
    timing.lap(stays ? "shell" : "command");
    slot.discard();
    if (options.timing()) {
      timing.print(err);
    }
    return result;
  }

  private static Container filled(
      Slot slot,
      Distribution distribution,
      List<Distribution.Item> wanted,
      Map<String, String> properties,
      int level)
      throws IOException, BundleException {
    Container container = Container.create(slot, distribution.id(), properties, level);
    container.install(wanted);
    return container;
  }

  /** Runs one device for another container, in the folder of its jar, until that lets go. */
  private int isolated(Options options) throws IOException, BundleException, InterruptedException {
    Path jar = Path.of(options.text()).toAbsolutePath();
    Map<String, String> properties = new HashMap<>();
    properties.put("thalamus.home", home.toString());
    properties.put("thalamus.isolated", jar.getParent().toString());
    options
        .storage()
        .ifPresent(
            storage -> properties.put("thalamus.storage", storage.toAbsolutePath().toString()));
    properties.put("ds.loglevel", "2");
    properties.put("felix.log.level", "1");
    Distribution distribution = Distribution.at(home);
    Slot slot = Slot.take(jar.resolveSibling("framework"), home);
    Container container = Container.create(slot, distribution.id(), properties, options.level());
    container.isolate(distribution.bundles(), new Distribution.Item(jar, 1));
    container.waitForStop();
    return 0;
  }

  /** Returns true if there is a folder of devices to watch, and says why if there is none. */
  private boolean hasDeployFolder(Path folder) {
    try {
      Files.createDirectories(folder);
      return true;
    } catch (IOException e) {
      String reason =
          switch (e) {
            case AccessDeniedException _ -> "access is denied";
            case FileAlreadyExistsException _ -> "a file is in its place";
            case FileSystemException given when given.getReason() != null -> given.getReason();
            default -> e.toString();
          };
      err.println(
          "thalamus: no devices are installed from "
              + folder
              + ", which cannot be made: "
              + reason);
      return false;
    }
  }

  private Map<String, String> properties(Path storage, Slot slot, Options options) {
    Map<String, String> properties = new HashMap<>();
    properties.put("thalamus.home", home.toString());
    properties.put("thalamus.storage", storage.toString());
    properties.put("org.osgi.service.log.admin.loglevel", "INFO");
    properties.put("ds.loglevel", "2");
    // What the component runtime has read in XML is kept in the bundle cache when it is stopped.
    properties.put("ds.cache.metadata", "true");
    // The framework would write stack traces to standard output, where results go; what does not
    // start is reported in one line by the container, or by the command that wanted it.
    properties.put("felix.log.level", "0");
    // Nothing of another run counts, but what the storage keeps.
    properties.put("felix.cm.pm", "memory");
    if (options.level() >= Distribution.INTERACTIVE_LEVEL) {
      Path folder = storage.resolve("deploy");
      // A folder that others fill may be one that this process only reads.
      Path copies =
          Files.isWritable(folder) ? folder.resolve(".tmp") : slot.cache().resolveSibling("deploy");
      properties.put("felix.fileinstall.dir", folder.toString());
      properties.put("felix.fileinstall.tmpdir", copies.toString());
      properties.put("felix.fileinstall.poll", "500");
      // A file that it writes back is empty for a moment, in which its own next look may read it.
      properties.put("felix.fileinstall.enableConfigSave", "false");
      properties.put("felix.fileinstall.noInitialDelay", "true");
      properties.put("felix.fileinstall.start.level", "10");
      properties.put("felix.fileinstall.bundles.new.start", "true");
      properties.put("felix.fileinstall.log.level", "2"); // warnings too: the shell shows them
    }
    return properties;
  }

  private Map<String, Object> request(Options options) {
    Map<String, Object> request = new HashMap<>();
    // Gogo puts streams of its own in the place of the system's, which lead back to the session's:
    // only those from before end anywhere.
    request.put("out", out);
    request.put("err", err);
    request.put("words", options.words());
    request.put("json", options.json());
    request.put("devices", options.devices().isPresent());
    switch (options.mode()) {
      case TEXT -> request.put("text", options.text());
      case FILE -> request.put("file", Path.of(options.text()));
      case SHELL -> request.put("shell", isTerminal());
      default -> {
        // the words are the command
      }
    }
    return request;
  }

  /** Of both streams: without one of them there is nobody to edit a line. */
  private static boolean isTerminal() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }

  private static Path defaultStorage() {
    String state = System.getenv("XDG_STATE_HOME");
    if (state != null && !state.isBlank()) {
      return Path.of(state, "thalamus");
    }
    return Path.of(System.getProperty("user.home"), ".local", "state", "thalamus");
  }

  /**
   * Two distributions that share a storage directory do not share bundle caches, which they would
   * fill by turns. The JDK's better digests take longer to find than this name is worth.
   */
  private static String digest(Path home) {
    CRC32 digest = new CRC32();
    digest.update(home.toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8));
    return Long.toHexString(digest.getValue());
  }
}
