// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.Network;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.embedded.container.Container;
import io.thalamus.memory.files.IoMessages;
import io.thalamus.x86.code.Machine;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;

/**
 * Thalamus inside a program: the runtime with its devices {@code cpu}, {@code simd} and {@code
 * x86}. Device bundles may be installed, updated and uninstalled while networks are open and run,
 * in a framework that the program does not see, and that is not started before the first of them.
 *
 * <p>Thread-safe. Owned by whoever started it; {@link #close} ends what was opened here. A JVM may
 * have several, which share nothing but the machine. Its threads are daemons: a program that
 * forgets to close it ends nevertheless. Without the JVM's option {@code --add-modules
 * jdk.incubator.vector}, {@code simd} does not start, and without {@code --enable-native-access},
 * which {@code x86} needs on Linux, that does not; {@link #problems} says so, and {@code cpu}
 * computes what no other device takes.
 */
public final class Thalamus implements AutoCloseable {
  private final Folder folder;
  private final Container container;
  private boolean closed;

  private Thalamus(Folder folder, Container container) {
    this.folder = folder;
    this.container = container;
  }

  /**
   * Starts with nothing kept: the folder of temporary files goes with {@link #close} or with the
   * JVM.
   *
   * @throws NeuralNetworksException with UNMAPPABLE if the temporary folder cannot be written,
   *     OP_FAILED if the jar is damaged or the JVM lacks a module
   */
  public static Thalamus start() throws NeuralNetworksException {
    return start(Optional.empty());
  }

  /**
   * Starts with a folder for what is kept from one process to the next: measured times, and the key
   * of stored compilations.
   *
   * @param storage is made if it is not there; several instances may share it
   * @throws NeuralNetworksException as above, with UNMAPPABLE also for this folder
   */
  public static Thalamus start(Path storage) throws NeuralNetworksException {
    try {
      Files.createDirectories(storage);
    } catch (IOException e) {
      throw unmappable(storage.toString(), e);
    }
    return start(Optional.of(storage.toAbsolutePath()));
  }

  private static Thalamus start(Optional<Path> storage) throws NeuralNetworksException {
    CompletableFuture<Machine> probed = Container.probe();
    Folder folder;
    try {
      folder = Folder.create();
    } catch (IOException e) {
      throw unmappable(System.getProperty("java.io.tmpdir") + " (java.io.tmpdir)", e);
    }
    Thalamus started = null;
    try {
      started = apart(() -> new Thalamus(folder, new Container(probed, folder.path(), storage)));
      return started;
    } catch (IOException e) {
      throw new NeuralNetworksException(ResultCode.OP_FAILED, e.getMessage(), e);
    } finally {
      if (started == null) {
        folder.close();
      }
    }
  }

  private static NeuralNetworksException unmappable(String folder, IOException e) {
    return new NeuralNetworksException(
        ResultCode.UNMAPPABLE, "cannot write to " + folder + ": " + IoMessages.reason(e), e);
  }

  /** Some work that may fail. */
  @FunctionalInterface
  private interface Work<T> {
    T run() throws IOException;
  }

  /**
   * Works in a daemon thread, and waits. An interruption does not end it. Threads inherit that:
   * those that the framework starts from here do not keep the JVM alive, as those started from the
   * program's main thread would.
   */
  private static <T> T apart(Work<T> work) throws IOException {
    FutureTask<T> task = new FutureTask<>(work::run);
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .name("thalamus-container")
            .inheritInheritableThreadLocals(false)
            .unstarted(task);
    thread.setContextClassLoader(null);
    thread.start();
    // Half a start would be nobody's: an interruption is kept for the caller.
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          return task.get();
        } catch (InterruptedException _) {
          isInterrupted = true;
        }
      }
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case IOException io -> throw io;
        case RuntimeException unchecked -> throw unchecked;
        case NoClassDefFoundError missing when missing.getMessage().startsWith("jdk/jfr/") ->
            throw new IOException("this JVM has no module jdk.jfr: name it to jlink", missing);
        default -> throw new IOException(e.getCause());
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Returns the service that all else is reached through.
   *
   * @throws IllegalStateException if this is closed
   */
  public synchronized NeuralNetworks neuralNetworks() {
    return container().neuralNetworks();
  }

  private synchronized Container container() {
    if (closed) {
      throw new IllegalStateException("Thalamus is closed");
    }
    return container;
  }

  /**
   * Loads and compiles a model file for all devices.
   *
   * @return owned by the caller; it ends with this object at the latest
   * @throws NeuralNetworksException as {@link Network#open}
   */
  public Network network(Path file) throws NeuralNetworksException {
    return Network.open(neuralNetworks(), file, CompilationOptions.DEFAULT);
  }

  /**
   * Loads and compiles a model, as above.
   *
   * @param name the name that a file would have, for example {@code digits.tflite}
   * @param model its bytes, which are copied
   * @throws NeuralNetworksException as above
   */
  public Network network(String name, byte[] model) throws NeuralNetworksException {
    return open(neuralNetworks().load(name, MemorySegment.ofArray(model)));
  }

  /**
   * Loads and compiles a model, as above.
   *
   * @param model is read to its end and stays open
   * @throws IOException if the stream fails
   * @throws NeuralNetworksException as above
   */
  public Network network(String name, InputStream model)
      throws IOException, NeuralNetworksException {
    return open(neuralNetworks().load(name, model));
  }

  private Network open(LoadedModel model) throws NeuralNetworksException {
    return Network.open(neuralNetworks(), model, CompilationOptions.DEFAULT);
  }

  /** Returns the devices that are here now; see {@link NeuralNetworks#devices}. */
  public List<DeviceDescription> devices() {
    return neuralNetworks().devices();
  }

  /** Returns one line for each part that did not start; empty if all did. */
  public List<String> problems() {
    return container().problems();
  }

  /**
   * Calls a listener whenever devices come or go, in the thread that brings or removes them, until
   * the returned registration is closed. A listener returns soon, and does not call {@code
   * install}, {@code uninstall} or {@code close}.
   *
   * @param listener gets the ids of the devices that serve now
   */
  public Registration onDevices(Consumer<List<String>> listener) {
    return container().listen(Objects.requireNonNull(listener, "listener"))::run;
  }

  /** The registration of a listener. Thread-safe. */
  @FunctionalInterface
  public interface Registration extends AutoCloseable {
    /** Ends it; once more does nothing. */
    @Override
    void close();
  }

  /**
   * Installs a device bundle, or updates the one of the same symbolic name. Open networks move to
   * its devices in the background, if these suit them better.
   *
   * @param bundle the jar, which may be deleted afterwards
   * @throws NeuralNetworksException with BAD_DATA if it is no bundle, or does not start; a new one
   *     is removed again then
   */
  public void install(Path bundle) throws NeuralNetworksException {
    change(() -> container().install(bundle));
  }

  /**
   * Uninstalls the bundle of a device, {@code simd} for example. Its running calls end first; open
   * networks go on elsewhere.
   *
   * @throws NeuralNetworksException with BAD_DATA if there is no such device
   */
  public void uninstall(String device) throws NeuralNetworksException {
    change(() -> container().uninstall(device));
  }

  /**
   * Changes settings until this is closed, of a device that is installed later too. A device whose
   * settings change leaves and comes back within moments; its networks run elsewhere meanwhile.
   *
   * @param part the name of a configuration, {@code io.thalamus.simd} for example
   * @param settings numbers, texts and truth values by name, in the place of earlier ones; those
   *     that are missing are as usual. A name that the part does not know is passed over
   * @throws NeuralNetworksException with BAD_DATA if a value is of no type that a setting can have
   */
  public void configure(String part, Map<String, ?> settings) throws NeuralNetworksException {
    Map<String, ?> copy = Map.copyOf(settings);
    change(() -> container().configure(part, copy));
  }

  /** Some change that may fail. */
  @FunctionalInterface
  private interface Change {
    void run() throws IOException;
  }

  private static void change(Change change) throws NeuralNetworksException {
    try {
      apart(
          () -> {
            change.run();
            return null;
          });
    } catch (IOException e) {
      throw new NeuralNetworksException(ResultCode.BAD_DATA, e.getMessage(), e);
    }
  }

  /**
   * Closes what was opened here, stops everything and removes the temporary files. Tensors of
   * answers stay. Once more does nothing.
   *
   * @throws IllegalStateException if something does not stop; the temporary files are removed
   */
  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    try {
      apart(
          () -> {
            container.close();
            return null;
          });
    } catch (IOException e) {
      throw new IllegalStateException(e.getMessage(), e);
    } finally {
      folder.close();
    }
  }
}
