// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.shell.tensor.InputFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/**
 * The models that {@code nn:load} keeps, by name, and the way to any other model file. Thread-safe;
 * closes what is kept when it goes.
 */
@Component(service = Models.class)
public final class Models {
  private final NeuralNetworks networks;
  private final Object lock = new Object();
  private final Map<String, ResidentModel> kept = new LinkedHashMap<>();
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

  /**
   * Called by the component runtime.
   *
   * @param networks reads and compiles
   */
  @Activate
  public Models(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  /** Closes what is kept. */
  @Deactivate
  public void close() {
    synchronized (lock) {
      kept.values().forEach(ResidentModel::retire);
      kept.clear();
    }
  }

  /** Runs a task from now on whenever a model has come or gone. */
  void addListener(Runnable listener) {
    listeners.add(listener);
  }

  void removeListener(Runnable listener) {
    listeners.remove(listener);
  }

  /** Opens the model that a command's first word names: see {@link #open(String, Path)}. */
  public OpenModel open(Invocation invocation) {
    String word = invocation.operand();
    ReadOptions choices = ReadChoices.of(invocation);
    try {
      Optional<OpenModel> use = use(word);
      if (use.isPresent()) {
        return chosen(use.get(), choices);
      }
      Path file = checked(word, invocation.path(word));
      try {
        return new FileModel(networks, networks.load(file, choices));
      } catch (NeuralNetworksException e) {
        if (e.code() != ResultCode.BAD_DATA || !choices.shapes().isEmpty()) {
          throw e;
        }
        // Some models have no size of their own that works: those of the files are another try.
        Map<String, Shape> shapes = InputFile.shapes(invocation);
        if (shapes.isEmpty()) {
          throw e;
        }
        return new FileModel(networks, networks.load(file, choices.withShapes(shapes)));
      }
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private static OpenModel chosen(OpenModel model, ReadOptions choices)
      throws NeuralNetworksException {
    boolean isChosen = choices.equals(ReadOptions.DEFAULT);
    try {
      if (!isChosen) {
        model.choose(choices);
        isChosen = true;
      }
      return model;
    } finally {
      if (!isChosen) {
        model.close();
      }
    }
  }

  private Optional<OpenModel> use(String word) {
    synchronized (lock) {
      ResidentModel model = kept.get(word);
      return model == null ? Optional.empty() : model.use();
    }
  }

  /**
   * Opens a model for one command.
   *
   * @param word the name of a kept model, or else what {@code file} was made of
   * @param file where it would be as a file
   * @throws CommandException where there is neither
   */
  public OpenModel open(String word, Path file) {
    Optional<OpenModel> use = use(word);
    return use.isPresent()
        ? use.get()
        : new FileModel(networks, load(checked(word, file), ReadOptions.DEFAULT));
  }

  private Path checked(String word, Path file) {
    if (!Files.exists(file) && !kept().isEmpty()) {
      throw new CommandException(
          "no model file and no loaded model is called %s; loaded are %s"
              .formatted(word, String.join(", ", names())));
    }
    if (Files.isDirectory(file)) {
      throw new CommandException(file + " is a directory, not a model file");
    }
    return file;
  }

  /**
   * Loads a model and keeps it.
   *
   * @param invocation has the choices that the file leaves open
   * @param caching says where the compilations of the loaded model are kept
   * @throws CommandException where it cannot be read, or the name is taken
   */
  public ResidentModel keep(
      String name,
      Path file,
      Invocation invocation,
      Function<LoadedModel, Optional<CacheOptions>> caching) {
    return keep(name, file, ReadChoices.of(invocation), caching);
  }

  private ResidentModel keep(
      String name,
      Path file,
      ReadOptions choices,
      Function<LoadedModel, Optional<CacheOptions>> caching) {
    requireFree(name);
    LoadedModel loaded = load(file, choices);
    ResidentModel model = new ResidentModel(networks, name, loaded, caching.apply(loaded));
    boolean isNew;
    synchronized (lock) {
      isNew = kept.putIfAbsent(name, model) == null;
    }
    if (isNew) {
      listeners.forEach(Runnable::run);
      return model;
    }
    model.retire();
    requireFree(name);
    return keep(name, file, choices, caching);
  }

  private void requireFree(String name) {
    if (names().contains(name)) {
      throw new CommandException(
          "a model called " + name + " is loaded already; choose another --name, or nn:unload it");
    }
  }

  /**
   * Forgets a kept model; it is closed once no command uses it any more.
   *
   * @throws CommandException where there is none of this name
   */
  public void unload(String name) {
    ResidentModel model;
    synchronized (lock) {
      model = kept.remove(name);
    }
    if (model == null) {
      List<String> names = names();
      throw new CommandException(
          "no loaded model is called "
              + name
              + (names.isEmpty()
                  ? "; none is loaded"
                  : "; loaded are " + String.join(", ", names)));
    }
    model.retire();
    listeners.forEach(Runnable::run);
  }

  /** The kept models in the order of their loading. */
  public List<ResidentModel> kept() {
    synchronized (lock) {
      return new ArrayList<>(kept.values());
    }
  }

  private List<String> names() {
    return kept().stream().map(ResidentModel::name).toList();
  }

  private LoadedModel load(Path file, ReadOptions choices) {
    if (Files.isDirectory(file)) {
      throw new CommandException(file + " is a directory, not a model file");
    }
    try {
      return networks.load(file, choices);
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }
}
