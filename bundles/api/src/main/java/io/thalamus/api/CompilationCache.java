// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Model;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A view of the directories in which compilations are kept, for people and their tools. An OSGi
 * service. Thread-safe; what it answers is a picture of the moment, since other processes use the
 * same directories.
 */
@ProviderType
public interface CompilationCache {
  /**
   * Returns the entries of a directory, last used first. A directory that does not exist holds
   * nothing.
   *
   * @throws NeuralNetworksException with BAD_DATA where it cannot be read
   */
  List<Entry> entries(Path directory) throws NeuralNetworksException;

  /**
   * Has the devices that are here open each entry of a directory, and gives it back at once.
   *
   * @throws NeuralNetworksException with BAD_DATA where the directory cannot be read
   */
  List<Check> verify(Path directory) throws NeuralNetworksException;

  /**
   * Removes entries until the others fit. Those go first whose compilation would take the least
   * time for each byte and each second since their last use. Those in use stay.
   *
   * @param bytes what may stay
   * @return what was removed
   * @throws NeuralNetworksException with BAD_DATA where the directory cannot be read
   */
  List<Entry> collect(Path directory, long bytes) throws NeuralNetworksException;

  /**
   * Removes what is stored for the steps of the plan of the moment, but what is in use.
   *
   * @return how many entries were removed
   * @throws NeuralNetworksException as {@link #why}
   */
  int forget(Model model, CompilationOptions options) throws NeuralNetworksException;

  /** Returns the bytes that may stay in a directory when something is added to it. */
  long quotaBytes();

  /**
   * Returns the obstacles that kept compilations of this process from being stored, each cause of a
   * directory once, until a compilation is kept there again.
   */
  List<Trouble> troubles();

  /**
   * Returns how the looks at the cache have ended for each device, since the runtime of this
   * process began, by the ids of the devices.
   */
  List<Looks> looks();

  /**
   * Returns the obstacle that now keeps compilations from being stored in a directory; empty where
   * nothing does. Writes a little there and removes it; makes no directory.
   */
  Optional<String> obstacle(Path directory);

  /**
   * Tells for each step of the plan of the moment whether a compilation with these options would
   * restore it from the cache, and why not. The devices open what is stored; nothing is compiled.
   *
   * @throws NeuralNetworksException with BAD_DATA where the options have no caching; otherwise as
   *     {@link NeuralNetworks#plan}
   */
  List<Forecast> why(Model model, CompilationOptions options) throws NeuralNetworksException;

  /**
   * The files of one step of one model on one device.
   *
   * @param name 64 letters that the file names begin with
   * @param label of the model, as the application gave it; empty where it is not known
   * @param step which operations, for people; empty where it is not known
   * @param device the full name; empty where it is not known
   * @param version of the device; empty where it is not known
   * @param files how many
   * @param bytes of all of them
   * @param lastUsed when it was stored or restored
   * @param isBeingWritten whether a device writes it now
   */
  record Entry(
      String name,
      String label,
      String step,
      String device,
      String version,
      int files,
      long bytes,
      Instant lastUsed,
      boolean isBeingWritten) {
    public Entry {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(label, "label");
      Objects.requireNonNull(step, "step");
      Objects.requireNonNull(device, "device");
      Objects.requireNonNull(version, "version");
      Objects.requireNonNull(lastUsed, "lastUsed");
    }
  }

  /**
   * The number of steps that a device restored, and that it did not.
   *
   * @param device its id
   * @param hits steps that it restored
   * @param misses steps that were not stored
   * @param refused steps whose files it did not accept, since they were changed or are of another
   *     version
   * @param unavailable steps whose files were in use or could not be opened, or for which it had no
   *     time
   */
  record Looks(String device, long hits, long misses, long refused, long unavailable) {
    public Looks {
      Objects.requireNonNull(device, "device");
    }
  }

  /**
   * Why compilations are not kept. They are made all the same.
   *
   * @param cause in a few words
   * @param since when a compilation met it first
   */
  record Trouble(Path directory, String cause, Instant since) {
    public Trouble {
      Objects.requireNonNull(directory, "directory");
      Objects.requireNonNull(cause, "cause");
      Objects.requireNonNull(since, "since");
    }
  }

  /**
   * The result of a check of an entry.
   *
   * @param state what its device says
   * @param reason why it cannot be used, or is stale; empty if it is as good as new
   */
  record Check(Entry entry, State state, String reason) {
    public Check {
      Objects.requireNonNull(entry, "entry");
      Objects.requireNonNull(state, "state");
      Objects.requireNonNull(reason, "reason");
    }

    /** The results of an attempt to open an entry. */
    public enum State {
      /** Its device opened it. */
      GOOD,
      /** Its device opened it, and says that it is worth compiling anew. */
      STALE,
      /** Its device refused it; the next compilation writes it anew. */
      BAD,
      /** No device here would look for it. */
      UNUSED
    }
  }

  /**
   * The expectation that a step comes from the cache, or does not.
   *
   * @param step which operations, for people
   * @param device id of the device that would get it
   * @param isStored whether its files are there, and the device opens them
   * @param reasons why not, one sentence each; of a step that is stored, why it is worth compiling
   *     anew
   */
  record Forecast(String step, String device, boolean isStored, List<String> reasons) {
    public Forecast {
      Objects.requireNonNull(step, "step");
      Objects.requireNonNull(device, "device");
      reasons = List.copyOf(reasons);
    }
  }
}
