// SPDX-License-Identifier: Apache-2.0

import java.lang.classfile.AccessFlags;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.TypeKind;
import java.lang.classfile.attribute.NestHostAttribute;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The classes of the lambdas of a folder. Those of one package share them: the JDK's functions of
 * objects one class that has all of these interfaces, others one for each interface and each list
 * of captured types. A class that is loaded takes a quarter of a millisecond. Not thread-safe.
 */
final class SharedLambdas {
  private static final ClassDesc LAMBDAS = ClassDesc.of("java.lang.invoke.LambdaMetafactory");
  private static final String SHARED = "Lambdas" + Ahead.MARK;
  private static final String LAMBDA = "lambda$";
  private static final String ONLY = "ONLY";
  private static final String MAKE = "make";
  private static final String NUMBER = "number";
  private static final List<String> NUMBERS = List.of("Int", "Long", "Double", "Boolean");
  private static final int PRIVATE_FINAL = ClassFile.ACC_PRIVATE | ClassFile.ACC_FINAL;
  private static final int STATIC_FINAL = ClassFile.ACC_STATIC | ClassFile.ACC_FINAL;

  static final Map<ClassDesc, ClassDesc> BOXES =
      Map.of(
          ConstantDescs.CD_int, ConstantDescs.CD_Integer,
          ConstantDescs.CD_long, ConstantDescs.CD_Long,
          ConstantDescs.CD_float, ConstantDescs.CD_Float,
          ConstantDescs.CD_double, ConstantDescs.CD_Double,
          ConstantDescs.CD_boolean, ConstantDescs.CD_Boolean,
          ConstantDescs.CD_byte, ConstantDescs.CD_Byte,
          ConstantDescs.CD_short, ConstantDescs.CD_Short,
          ConstantDescs.CD_char, ConstantDescs.CD_Character);

  private static final Map<ClassDesc, ClassDesc> UNBOXED = new HashMap<>();

  static {
    BOXES.forEach((plain, box) -> UNBOXED.put(box, plain));
  }

  private final ClassFile format = ClassFile.of();
  private final Map<ClassDesc, ClassModel> models;
  private final Predicate<ClassDesc> isTaken;
  private final int limit;
  private final Map<Group, List<Shared>> groups = new LinkedHashMap<>();

  /** The private methods that a compiler wrote for lambdas, and that their packages may call. */
  private final Set<Body> opened = new HashSet<>();

  /** Other private methods that lambdas stand for: packages may call methods that call these. */
  private final Set<Body> bridged = new LinkedHashSet<>();

  /** How many classes of each package have a number. */
  private final Map<String, Integer> numbers = new HashMap<>();

  /**
   * Starts without any.
   *
   * @param models the classes of the folder
   * @param isTaken whether there is a class of a name
   * @param limit how many lambdas share a method at most
   */
  SharedLambdas(Map<ClassDesc, ClassModel> models, Predicate<ClassDesc> isTaken, int limit) {
    this.models = models;
    this.isTaken = isTaken;
    this.limit = limit;
  }

  /** Finds the methods of a class that are to be visible to its package. */
  void open(ClassModel model) {
    if (model.flags().has(AccessFlag.INTERFACE)) {
      return;
    }
    model.methods().stream()
        .flatMap(method -> method.code().stream())
        .flatMap(CodeModel::elementStream)
        .filter(element -> element instanceof InvokeDynamicInstruction call && isLambda(call))
        .map(call -> Body.of((InvokeDynamicInstruction) call))
        .forEach(
            body -> {
              if (body.name().startsWith(LAMBDA)) {
                opened.add(body);
              } else if (method(body).filter(SharedLambdas::isBridgeable).isPresent()) {
                bridged.add(body);
              }
            });
  }

  private static boolean isBridgeable(MethodModel method) {
    return method.flags().has(AccessFlag.PRIVATE)
        && !method.methodName().equalsString(ConstantDescs.INIT_NAME)
        && !method.parent().orElseThrow().flags().has(AccessFlag.INTERFACE);
  }

  /** Returns the method, if it is in the folder. */
  private Optional<MethodModel> method(Body body) {
    ClassModel owner = models.get(body.owner());
    return owner == null
        ? Optional.empty()
        : owner.methods().stream()
            .filter(method -> Body.of(owner, method).equals(body))
            .findFirst();
  }

  /** Returns whether the package must be able to call a private method of a class. */
  boolean isBridged(ClassModel model) {
    return bridged.stream().anyMatch(body -> body.owner().equals(model.thisClass().asSymbol()));
  }

  private static boolean isThere(ClassModel model, String name) {
    return model.methods().stream().anyMatch(method -> method.methodName().equalsString(name));
  }

  /** Writes the methods that call private ones of a class, if an earlier run has not. */
  void bridge(ClassModel model, ClassBuilder builder) {
    for (Body body : bridged) {
      if (body.owner().equals(model.thisClass().asSymbol()) && !isThere(model, body.openName())) {
        MethodTypeDesc type = MethodTypeDesc.ofDescriptor(body.type());
        boolean isStatic = method(body).orElseThrow().flags().has(AccessFlag.STATIC);
        MethodTypeDesc bridge = isStatic ? type : type.insertParameterTypes(0, body.owner());
        builder.withMethodBody(
            body.openName(),
            bridge,
            ClassFile.ACC_STATIC | ClassFile.ACC_SYNTHETIC,
            code -> {
              for (int i = 0; i < bridge.parameterCount(); i++) {
                loadParameter(code, bridge, i);
              }
              if (isStatic) {
                code.invokestatic(body.owner(), body.name(), type);
              } else {
                code.invokevirtual(body.owner(), body.name(), type);
              }
              code.return_(TypeKind.from(type.returnType()));
            });
      }
    }
  }

  /** Returns whether an instruction makes a lambda. */
  static boolean isLambda(InvokeDynamicInstruction call) {
    DirectMethodHandleDesc bootstrap = call.bootstrapMethod();
    return bootstrap.owner().equals(LAMBDAS) && bootstrap.methodName().equals("metafactory");
  }

  /** Lets the package call the body of a lambda. */
  void open(ClassModel model, ClassBuilder builder, ClassElement element) {
    if (element instanceof MethodModel method && opened.contains(Body.of(model, method))) {
      builder.withMethod(
          Body.of(model, method).openName(),
          method.methodTypeSymbol(),
          method.flags().flagsMask() & ~ClassFile.ACC_PRIVATE,
          made ->
              method
                  .elementStream()
                  .filter(part -> !(part instanceof AccessFlags))
                  .forEach(made::with));
    } else {
      builder.with(element);
    }
  }

  /** Writes how a lambda is made out of the captured values on the stack. */
  void replace(ClassModel model, ClassDesc nest, CodeBuilder code, InvokeDynamicInstruction call) {
    MethodTypeDesc captures = call.typeSymbol();
    ClassDesc lambda = captures.returnType();
    Group group =
        new Group(
            model.thisClass().asSymbol().packageName(),
            isOpen(call) ? Optional.empty() : Optional.of(nest),
            isFunction(lambda) ? Optional.empty() : Optional.of(made(captures)));
    Method method =
        new Method(call.name().stringValue(), (MethodTypeDesc) call.bootstrapArgs().get(0));
    List<Shared> classes = groups.computeIfAbsent(group, absent -> new ArrayList<>());
    Shared shared =
        classes.stream()
            .filter(other -> other.calls(method).size() < limit)
            .findFirst()
            .orElse(null);
    if (shared == null) {
      shared = new Shared(group, model.majorVersion());
      classes.add(shared);
    }
    int number = shared.add(method, call);
    if (captures.parameterCount() == 0) {
      code.getstatic(shared.type, only(method, number), lambda);
    } else {
      code.loadConstant(number).invokestatic(shared.type, MAKE, made(captures));
    }
  }

  /**
   * Returns whether every start has an interface anyway, and nothing asks whether an object has it.
   * Those of numbers are called for each element: their classes stay small.
   */
  private static boolean isFunction(ClassDesc lambda) {
    return lambda.equals(ClassDesc.of("java.lang.Runnable"))
        || lambda.packageName().equals("java.util.function")
            && NUMBERS.stream().noneMatch(lambda.displayName()::startsWith);
  }

  private Stream<Shared> all() {
    return groups.values().stream().flatMap(List::stream);
  }

  /** Returns the contents of the classes. */
  Map<ClassDesc, byte[]> write() {
    Map<ClassDesc, byte[]> contents = new LinkedHashMap<>();
    all().forEach(shared -> contents.put(shared.type, format.build(shared.type, shared::write)));
    return contents;
  }

  /** Returns the new members of nests by their hosts. */
  Map<ClassDesc, List<ClassDesc>> joined() {
    Map<ClassDesc, List<ClassDesc>> joined = new LinkedHashMap<>();
    all()
        .forEach(
            shared ->
                shared
                    .group
                    .nest()
                    .ifPresent(
                        nest ->
                            joined
                                .computeIfAbsent(nest, absent -> new ArrayList<>())
                                .add(shared.type)));
    return joined;
  }

  /** Returns whether the whole package may call what a lambda stands for. */
  private boolean isOpen(InvokeDynamicInstruction call) {
    Body body = Body.of(call);
    return opened.contains(body)
        || bridged.contains(body)
        || method(body).filter(method -> method.flags().has(AccessFlag.PRIVATE)).isEmpty();
  }

  /** A method that a lambda stands for. */
  private record Body(ClassDesc owner, String name, String type) {
    static Body of(InvokeDynamicInstruction call) {
      DirectMethodHandleDesc handle = (DirectMethodHandleDesc) call.bootstrapArgs().get(1);
      return new Body(handle.owner(), handle.methodName(), handle.lookupDescriptor());
    }

    static Body of(ClassModel owner, MethodModel method) {
      return new Body(
          owner.thisClass().asSymbol(),
          method.methodName().stringValue(),
          method.methodType().stringValue());
    }

    /** Returns a name that no method of a subclass has, which would override this one. */
    String openName() {
      return name + "$" + owner.displayName();
    }
  }

  /** The method that makes an instance out of captured values and its number. */
  private static MethodTypeDesc made(MethodTypeDesc captures) {
    MethodTypeDesc made = captures;
    for (int i = 0; i < captures.parameterCount(); i++) {
      made = made.changeParameterType(i, stored(captures.parameterType(i)));
    }
    return made.insertParameterTypes(captures.parameterCount(), ConstantDescs.CD_int);
  }

  /** All references are objects. */
  private static ClassDesc stored(ClassDesc captured) {
    return captured.isPrimitive() ? captured : ConstantDescs.CD_Object;
  }

  /** Returns the fields of captured values: those of one type are counted. */
  private static List<String> fields(MethodTypeDesc captures) {
    Map<ClassDesc, Integer> counts = new HashMap<>();
    return captures.parameterList().stream()
        .map(SharedLambdas::stored)
        .map(
            type ->
                type.displayName().toLowerCase(Locale.ROOT) + counts.merge(type, 1, Integer::sum))
        .toList();
  }

  private static String only(Method method, int number) {
    return ONLY + "_" + method.name() + method.erased().parameterCount() + "_" + number;
  }

  /**
   * Lambdas that may share a class.
   *
   * @param nest the nest of all of them if one stands for a private method
   * @param made the method that makes them; empty for the JDK's functions of objects
   */
  private record Group(
      String packageName, Optional<ClassDesc> nest, Optional<MethodTypeDesc> made) {}

  /** The method of an interface. */
  private record Method(String name, MethodTypeDesc erased) {}

  /** A class whose instances are lambdas, each with its number among those of its method. */
  private final class Shared {
    private final Group group;
    private final int version;
    private final ClassDesc type;
    private final Map<Method, List<InvokeDynamicInstruction>> methods = new LinkedHashMap<>();

    Shared(Group group, int version) {
      this.group = group;
      this.version = version;
      ClassDesc free;
      do {
        String name = SHARED + numbers.merge(group.packageName(), 1, Integer::sum);
        free = ClassDesc.of(group.packageName(), name);
      } while (isTaken.test(free));
      type = free;
    }

    List<InvokeDynamicInstruction> calls(Method method) {
      return methods.getOrDefault(method, List.of());
    }

    /** Returns its number. */
    int add(Method method, InvokeDynamicInstruction call) {
      List<InvokeDynamicInstruction> calls =
          methods.computeIfAbsent(method, absent -> new ArrayList<>());
      calls.add(call);
      return calls.size() - 1;
    }

    /** Returns the types of captured values and interfaces, each once. */
    private Set<MethodTypeDesc> captures() {
      Set<MethodTypeDesc> captures = new LinkedHashSet<>();
      methods.values().forEach(calls -> calls.forEach(call -> captures.add(call.typeSymbol())));
      return captures;
    }

    void write(ClassBuilder builder) {
      Set<ClassDesc> interfaces = new LinkedHashSet<>();
      Map<String, ClassDesc> fields = new LinkedHashMap<>();
      Map<MethodTypeDesc, List<String>> made = new LinkedHashMap<>();
      fields.put(NUMBER, ConstantDescs.CD_int);
      for (MethodTypeDesc captures : captures()) {
        interfaces.add(captures.returnType());
        List<String> names = fields(captures);
        for (int i = 0; i < names.size(); i++) {
          fields.put(names.get(i), stored(captures.parameterType(i)));
        }
        made.put(made(captures), names);
      }
      builder
          .withVersion(version, 0)
          .withFlags(AccessFlag.FINAL, AccessFlag.SUPER, AccessFlag.SYNTHETIC)
          .withInterfaceSymbols(List.copyOf(interfaces));
      group.nest().ifPresent(nest -> builder.with(NestHostAttribute.of(nest)));
      fields.forEach((name, stored) -> builder.withField(name, stored, PRIVATE_FINAL));
      Set<MethodTypeDesc> constructors = new HashSet<>();
      made.forEach(
          (makes, names) -> {
            if (constructors.add(constructor(makes))) {
              writeConstructor(builder, makes, names);
            }
            if (!names.isEmpty()) {
              writeMake(builder, makes);
            }
          });
      writeConstants(builder);
      methods.forEach(
          (method, calls) ->
              builder.withMethodBody(
                  method.name(),
                  method.erased(),
                  ClassFile.ACC_PUBLIC,
                  code -> writeCalls(code, method.erased(), calls)));
    }

    private static MethodTypeDesc constructor(MethodTypeDesc made) {
      return made.changeReturnType(ConstantDescs.CD_void);
    }

    private void writeConstructor(ClassBuilder builder, MethodTypeDesc made, List<String> names) {
      builder.withMethodBody(
          ConstantDescs.INIT_NAME,
          constructor(made),
          ClassFile.ACC_PRIVATE,
          code -> {
            code.aload(0)
                .invokespecial(
                    ConstantDescs.CD_Object, ConstantDescs.INIT_NAME, ConstantDescs.MTD_void);
            for (int i = 0; i < made.parameterCount(); i++) {
              code.aload(0);
              loadParameter(code, made, i);
              code.putfield(type, i < names.size() ? names.get(i) : NUMBER, made.parameterType(i));
            }
            code.return_();
          });
    }

    private void writeMake(ClassBuilder builder, MethodTypeDesc made) {
      builder.withMethodBody(
          MAKE,
          made,
          ClassFile.ACC_STATIC,
          code -> {
            code.new_(type).dup();
            for (int i = 0; i < made.parameterCount(); i++) {
              loadParameter(code, made, i);
            }
            code.invokespecial(type, ConstantDescs.INIT_NAME, constructor(made)).areturn();
          });
    }

    /** Writes the lambdas that capture nothing, of which there is one each. */
    private void writeConstants(ClassBuilder builder) {
      List<Consumer<CodeBuilder>> makers = new ArrayList<>();
      methods.forEach(
          (method, calls) -> {
            for (int i = 0; i < calls.size(); i++) {
              if (calls.get(i).typeSymbol().parameterCount() == 0) {
                makers.add(constant(builder, method, i, calls.get(i).typeSymbol().returnType()));
              }
            }
          });
      if (!makers.isEmpty()) {
        builder.withMethodBody(
            ConstantDescs.CLASS_INIT_NAME,
            ConstantDescs.MTD_void,
            ClassFile.ACC_STATIC,
            code -> {
              makers.forEach(maker -> maker.accept(code));
              code.return_();
            });
      }
    }

    private Consumer<CodeBuilder> constant(
        ClassBuilder builder, Method method, int number, ClassDesc lambda) {
      String name = only(method, number);
      builder.withField(name, lambda, STATIC_FINAL);
      return code ->
          code.new_(type)
              .dup()
              .loadConstant(number)
              .invokespecial(
                  type,
                  ConstantDescs.INIT_NAME,
                  MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int))
              .putstatic(type, name, lambda);
    }

    private void writeCalls(
        CodeBuilder code, MethodTypeDesc erased, List<InvokeDynamicInstruction> calls) {
      List<SwitchCase> cases = new ArrayList<>();
      for (int i = 0; i < calls.size(); i++) {
        cases.add(SwitchCase.of(i, code.newLabel()));
      }
      if (calls.size() > 1) {
        code.aload(0)
            .getfield(type, NUMBER, ConstantDescs.CD_int)
            .tableswitch(cases.getLast().target(), cases);
      }
      for (int i = 0; i < calls.size(); i++) {
        code.labelBinding(cases.get(i).target());
        writeCall(code, this, erased, calls.get(i));
      }
    }
  }

  private static void loadParameter(CodeBuilder code, MethodTypeDesc type, int parameter) {
    code.loadLocal(TypeKind.from(type.parameterType(parameter)), code.parameterSlot(parameter));
  }

  /** Calls what a lambda stands for with captured values and parameters. */
  private void writeCall(
      CodeBuilder code, Shared shared, MethodTypeDesc erased, InvokeDynamicInstruction call) {
    MethodTypeDesc captures = call.typeSymbol();
    List<String> fields = fields(captures);
    DirectMethodHandleDesc body = (DirectMethodHandleDesc) call.bootstrapArgs().get(1);
    MethodTypeDesc exact = (MethodTypeDesc) call.bootstrapArgs().get(2);
    MethodTypeDesc type = MethodTypeDesc.ofDescriptor(body.lookupDescriptor());
    List<ClassDesc> wanted = new ArrayList<>(type.parameterList());
    ClassDesc result = type.returnType();
    switch (body.kind()) {
      case CONSTRUCTOR -> {
        code.new_(body.owner()).dup();
        result = body.owner();
      }
      case STATIC, INTERFACE_STATIC -> {
        // It takes parameters alone.
      }
      default -> wanted.addFirst(body.owner());
    }
    for (int i = 0; i < captures.parameterCount(); i++) {
      ClassDesc captured = captures.parameterType(i);
      ClassDesc stored = stored(captured);
      code.aload(0).getfield(shared.type, fields.get(i), stored);
      convert(code, stored, captured, captured);
      convert(code, captured, captured, wanted.get(i));
    }
    for (int i = 0; i < erased.parameterCount(); i++) {
      loadParameter(code, erased, i);
      convert(
          code,
          erased.parameterType(i),
          exact.parameterType(i),
          wanted.get(captures.parameterCount() + i));
    }
    Body named = Body.of(call);
    String name = opened.contains(named) ? named.openName() : named.name();
    if (bridged.contains(named)) {
      MethodTypeDesc bridge =
          wanted.size() > type.parameterCount() ? type.insertParameterTypes(0, body.owner()) : type;
      code.invokestatic(body.owner(), named.openName(), bridge);
    } else {
      call(code, body, name, type);
    }
    if (erased.returnType().equals(ConstantDescs.CD_void)) {
      switch (TypeKind.from(result).slotSize()) {
        case 1 -> code.pop();
        case 2 -> code.pop2();
        default -> {
          // Nothing was returned.
        }
      }
    } else {
      convert(code, result, exact.returnType(), erased.returnType());
    }
    code.return_(TypeKind.from(erased.returnType()));
  }

  private static void call(
      CodeBuilder code, DirectMethodHandleDesc body, String name, MethodTypeDesc type) {
    switch (body.kind()) {
      case CONSTRUCTOR -> code.invokespecial(body.owner(), ConstantDescs.INIT_NAME, type);
      case STATIC -> code.invokestatic(body.owner(), name, type);
      case INTERFACE_STATIC -> code.invokestatic(body.owner(), name, type, true);
      case INTERFACE_VIRTUAL, INTERFACE_SPECIAL -> code.invokeinterface(body.owner(), name, type);
      case VIRTUAL, SPECIAL -> code.invokevirtual(body.owner(), name, type);
      default -> throw new IllegalArgumentException("no method: " + body);
    }
  }

  /**
   * Converts a value as the language does.
   *
   * @param exact what the value is known to be
   */
  private static void convert(CodeBuilder code, ClassDesc from, ClassDesc exact, ClassDesc to) {
    if (from.equals(to)) {
      return;
    }
    if (from.isPrimitive() && to.isPrimitive()) {
      code.conversion(TypeKind.from(from), TypeKind.from(to));
    } else if (from.isPrimitive()) {
      ClassDesc box = BOXES.get(from);
      code.invokestatic(box, "valueOf", MethodTypeDesc.of(box, from));
    } else if (to.isPrimitive()) {
      ClassDesc box =
          Stream.of(exact, from).filter(UNBOXED::containsKey).findFirst().orElse(BOXES.get(to));
      ClassDesc plain = UNBOXED.get(box);
      if (!from.equals(box)) {
        code.checkcast(box);
      }
      code.invokevirtual(box, plain.displayName() + "Value", MethodTypeDesc.of(plain))
          .conversion(TypeKind.from(plain), TypeKind.from(to));
    } else if (!to.equals(ConstantDescs.CD_Object)) {
      code.checkcast(to);
    }
  }
}
