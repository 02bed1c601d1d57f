"""Calculator: exact arithmetic, percentages, unit conversion and dates, for models that are bad at all four.

Expressions are walked as a syntax tree with a short list of allowed parts; they are never run as code. Every
size is bounded before the work is done, so `9**9**9` is refused at once instead of filling the memory.
"""

import ast
import calendar
import json
import math
import operator
import re
from datetime import date, timedelta
from fractions import Fraction

from agents.basic_agent import BasicAgent

__manifest__ = {
    "schema": "rapp-agent/1.0",
    "name": "@roost/calculator",
    "version": "1.0.0",
    "display_name": "Calculator",
    "description": "Arithmetic, percentages, unit conversion, and differences and sums of dates.",
    "author": "Roost",
    "tags": ["math", "units", "dates"],
    "category": "productivity",
    "quality_tier": "community",
    "requires_env": [],
    "dependencies": ["@rapp/basic_agent"],
    "example_call": {"expression": "15% of 80"},
}

# Far longer than what a person types, far shorter than what makes the parser slow.
EXPRESSION_CHARACTERS_MAX = 500
EXPRESSION_PARTS_MAX = 200
# About 1200 decimal digits: more than anyone reads, and every step stays below a millisecond.
NUMBER_BITS_MAX = 4096
FACTORIAL_MAX = 500
ROUND_DIGITS_MAX = 100
# Larger whole numbers are given as text: many readers of JSON keep only 53 bits of a number.
JSON_WHOLE_MAX = 2**53

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
FUNCTIONS = {"abs": abs, "round": round, "min": min, "max": max, "ln": math.log}
for _name in "floor ceil exp log log2 log10 sin cos tan asin acos atan degrees radians hypot".split():
    FUNCTIONS[_name] = getattr(math, _name)
CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}

# Per kind: the unit's size in terms of the first one, then its names. Text, so that the fractions are exact.
UNITS = {
    "length": "1 m meter metre, 1000 km kilometer kilometre, 0.01 cm centimeter centimetre, 0.001 mm millimeter millimetre, "
    "1e-6 um, 1e-9 nm, 0.0254 in inch inches, 0.3048 ft foot feet, 0.9144 yd yard, 1609.344 mi mile, 1852 nmi",
    "mass": "1 kg kilogram kilo, 0.001 g gram, 1e-6 mg milligram, 1000 t tonne, 0.45359237 lb pound, "
    "0.028349523125 oz ounce, 6.35029318 st stone",
    "volume": "1 l liter litre, 0.001 ml milliliter millilitre cm3, 0.01 cl, 0.1 dl, 1000 m3, 3.785411784 gal gallon, "
    "0.946352946 qt quart, 0.473176473 pt pint, 0.2365882365 cup, 0.0295735295625 floz, "
    "0.01478676478125 tbsp tablespoon, 0.00492892159375 tsp teaspoon",
    "speed": "1 m/s mps, 5/18 km/h kmh kph, 0.44704 mph, 463/900 kn knot, 0.3048 ft/s fps",
    "data": "1 b byte, 1e3 kb kilobyte, 1e6 mb megabyte, 1e9 gb gigabyte, 1e12 tb terabyte, 1e15 pb petabyte, "
    "1024 kib, 1048576 mib, 1073741824 gib, 1099511627776 tib, 1/8 bit, 125 kbit, 125000 mbit, 125000000 gbit",
    "time": "1 s sec second, 0.001 ms millisecond, 1e-6 us, 60 min minute, 3600 h hr hour, 86400 d day, 604800 week, "
    "31557600 year",
}
FACTORS = {
    name: (kind, Fraction(entry.split()[0]))
    for kind, entries in UNITS.items()
    for entry in entries.split(", ")
    for name in entry.split()[1:]
}
# Kelvin = (degrees + offset) * factor.
CELSIUS, FAHRENHEIT, KELVIN = (Fraction("273.15"), 1), (Fraction("459.67"), Fraction(5, 9)), (0, 1)
TEMPERATURES = {"c": CELSIUS, "celsius": CELSIUS, "f": FAHRENHEIT, "fahrenheit": FAHRENHEIT, "k": KELVIN, "kelvin": KELVIN}

UNIT = r"[a-zµ°][\w°/³ ]*?"
CONVERSION = re.compile(rf"(?:convert\s+|what\s+is\s+)?(.*?[\d.)])\s*({UNIT})\s+(?:to|in|into|as)\s+({UNIT})", re.I)
PERCENT_OF = re.compile(r"(?:what\s+is\s+)?(.+?)\s*(?:%|percent)\s+of\s+(.+)", re.I)
PERCENT_SHARE = re.compile(r"(.+?)\s+is\s+what\s+(?:%|percent|percentage)\s+of\s+(.+)", re.I)
PERCENT_CHANGE = re.compile(r"(?:percent(?:age)?\s+)?change\s+from\s+(.+?)\s+to\s+(.+)", re.I)
PERCENT_ADDED = re.compile(r"(.*[\w)])\s*([+-])\s*(\d+(?:\.\d+)?)\s*%")
# A percent sign that ends a number; before another number it is the remainder operator.
PERCENT_SIGN = re.compile(r"(\d+(?:\.\d+)?)\s*%(?=\s*(?:$|[)*/+,-]))")


class CannotCalculate(ValueError):
    """The request has no answer; the text says why, for a person."""


class CalculatorAgent(BasicAgent):
    """Chooses the kind of calculation from what was given and answers as JSON."""

    def __init__(self):
        self.name = "Calculator"
        number = {"type": "number"}
        whole = {"type": "integer"}
        text = {"type": "string"}
        self.metadata = {
            "name": self.name,
            "description": "Calculates exactly. Give an `expression` such as `2*(3+4)^2`, `15% of 80`, "
            "`change from 40 to 50` or `5 km to miles`; or value, from_unit and to_unit; or start_date with end_date "
            "(difference) or with days, weeks, months, years (sum). Dates are YYYY-MM-DD or today.",
            "parameters": {
                "type": "object",
                "properties": {
                    "expression": {**text, "description": "What to calculate, as text."},
                    "value": {**number, "description": "The number to convert."},
                    "from_unit": {**text, "description": "Unit of the value, for example km."},
                    "to_unit": {**text, "description": "Unit of the answer, for example mi."},
                    "start_date": {**text, "description": "YYYY-MM-DD, today, tomorrow or yesterday."},
                    "end_date": {**text, "description": "YYYY-MM-DD, today, tomorrow or yesterday."},
                    "days": {**whole, "description": "Days to add; negative to subtract."},
                    "weeks": {**whole, "description": "Weeks to add."},
                    "months": {**whole, "description": "Months to add."},
                    "years": {**whole, "description": "Years to add."},
                },
                "required": [],
            },
        }
        super().__init__(name=self.name, metadata=self.metadata)

    def perform(self, **kwargs):
        """JSON with `status`, `operation`, `result`, `text` and `data_slush`, or `status` error and why."""
        try:
            operation, result, text = calculate(kwargs)
        except CannotCalculate as problem:
            return refusal(problem)
        except OverflowError:
            return refusal("a number in it is too large")
        return json.dumps(
            {
                "status": "success",
                "operation": operation,
                "result": result,
                "text": text,
                "data_slush": {"source_agent": self.name, "operation": operation, "result": result},
            },
            ensure_ascii=False,
        )


def refusal(problem):
    """The answer when there is no result."""
    return json.dumps({"status": "error", "message": str(problem), "text": f"Cannot calculate that: {problem}."})


def calculate(request):
    """Operation, result and sentence for whichever arguments were given."""
    if request.get("from_unit") or request.get("to_unit"):
        given = [request.get(name) for name in ("value", "from_unit", "to_unit")]
        if any(argument in (None, "") for argument in given):
            raise CannotCalculate("a conversion needs value, from_unit and to_unit")
        return convert(*map(str, given))
    if request.get("start_date") and request.get("end_date"):
        return date_difference(day(request["start_date"]), day(request["end_date"]))
    if any(request.get(unit) is not None for unit in ("days", "weeks", "months", "years")):
        return date_sum(day(request.get("start_date") or "today"), request)
    expression = str(request.get("expression") or request.get("query") or "").strip().rstrip("=?").strip()
    if not expression:
        raise CannotCalculate("nothing was given; pass an expression such as 2*(3+4)")
    if len(expression) > EXPRESSION_CHARACTERS_MAX:
        raise CannotCalculate(f"the expression is longer than {EXPRESSION_CHARACTERS_MAX} characters")
    sentences = (
        (PERCENT_SHARE, percent_share),
        (PERCENT_CHANGE, percent_change),
        (PERCENT_OF, percent_of),
        (CONVERSION, convert),
        (PERCENT_ADDED, percent_added),
    )
    for pattern, answer in sentences:
        match = pattern.fullmatch(expression)
        if match:
            return answer(*match.groups())
    result = plain(evaluate(expression))
    return "arithmetic", result, f"{expression} = {result}"


def percent_of(percent, whole):
    """`15% of 80`."""
    result = plain(bounded(bounded(evaluate(percent) * evaluate(whole)) / 100))
    return "percentage", result, f"{percent}% of {whole} is {result}"


def percent_share(part, whole):
    """`12 is what percent of 80`."""
    result = plain(bounded(divided(evaluate(part), evaluate(whole)) * 100))
    return "percentage", result, f"{part} is {result}% of {whole}"


def percent_change(before, after):
    """`change from 40 to 50`."""
    start = evaluate(before)
    result = plain(bounded(divided(evaluate(after) - start, abs(start)) * 100))
    return "percentage", result, f"The change from {before} to {after} is {result}%"


def percent_added(start, sign, percent):
    """`200 + 10%`, as on a pocket calculator."""
    share = Fraction(percent) / 100
    result = plain(bounded(evaluate(start) * (1 + share if sign == "+" else 1 - share)))
    return "percentage", result, f"{start} {sign} {percent}% is {result}"


def convert(value, source, target):
    """`5 km to miles`."""
    number = evaluate(value)
    source, target = source.strip(), target.strip()
    from_degrees, to_degrees = temperature(source), temperature(target)
    if from_degrees and to_degrees:
        kelvin = (number + from_degrees[0]) * from_degrees[1]
        if kelvin < 0:
            raise CannotCalculate(f"{value} {source} is below absolute zero")
        converted = kelvin / to_degrees[1] - to_degrees[0]
    else:
        (from_kind, from_factor), (to_kind, to_factor) = factor(source), factor(target)
        if from_kind != to_kind:
            raise CannotCalculate(f"{source} measures {from_kind} but {target} measures {to_kind}")
        converted = number * from_factor / to_factor
    # Twelve digits are more than any measurement has, and they hide the noise of binary fractions.
    result = plain(converted if is_whole(converted) else float(f"{float(bounded(converted)):.12g}"))
    return "conversion", result, f"{value} {source} = {result} {target}"


def factor(name):
    """Kind and size of a unit."""
    unit = re.sub(r"[\s.]", "", name.lower()).replace("³", "3").replace("µ", "u")
    found = FACTORS.get(unit) or (FACTORS.get(unit[:-1]) if unit.endswith("s") else None)
    if found is None:
        if temperature(name):
            raise CannotCalculate(f"{name} is a temperature and converts only to C, F or K")
        raise CannotCalculate(f"{name!r} is not a known unit of {', '.join(UNITS)} or temperature")
    return found


def temperature(name):
    return TEMPERATURES.get(re.sub(r"°|\bdeg(?:rees?)?\b|\s", "", name.lower()))


def date_difference(start, end):
    """Whole days from start to end; negative when end is earlier."""
    days = (end - start).days
    weeks, rest = divmod(abs(days), 7)
    in_weeks = f" ({weeks} weeks and {rest} days)" if weeks else ""
    return "date_difference", days, f"From {start} to {end}: {days} days{in_weeks}"


def date_sum(start, request):
    """A date plus years and months first, then weeks and days. A missing 31st becomes the month's last day."""
    units = ("years", "months", "weeks", "days")
    years, months, weeks, days = (whole_number(unit, request.get(unit)) for unit in units)
    try:
        year, month = divmod(start.year * 12 + start.month - 1 + years * 12 + months, 12)
        if not 1 <= year <= 9999:
            raise OverflowError
        last_day = calendar.monthrange(year, month + 1)[1]
        end = date(year, month + 1, min(start.day, last_day)) + timedelta(days=weeks * 7 + days)
    except OverflowError:
        raise CannotCalculate("the date would lie outside the years 1 to 9999") from None
    return "date_sum", end.isoformat(), f"The date is {end.isoformat()}, a {end.strftime('%A')}"


def day(text):
    """A date from text."""
    text = str(text).strip().lower()
    offset = {"today": 0, "tomorrow": 1, "yesterday": -1}.get(text)
    if offset is not None:
        return date.today() + timedelta(days=offset)
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        raise CannotCalculate(f"{text!r} is not a date; write it as YYYY-MM-DD") from None


def whole_number(name, value):
    try:
        return int(value or 0)
    except (TypeError, ValueError, OverflowError):
        raise CannotCalculate(f"{name} must be a whole number") from None


def evaluate(expression):
    """The value of an arithmetic expression as an exact fraction, or a float where functions need one."""
    text = expression.translate(str.maketrans({"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-"}))
    if not re.search(r"[A-Za-z]\s*\(", text):
        # Commas group thousands, except between the arguments of a function.
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = PERCENT_SIGN.sub(r"(\1/100)", text)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise CannotCalculate(f"{expression!r} is not an arithmetic expression") from None
    if sum(1 for _ in ast.walk(tree)) > EXPRESSION_PARTS_MAX:
        raise CannotCalculate(f"the expression has more than {EXPRESSION_PARTS_MAX} parts")
    try:
        return bounded(value_of(tree.body))
    except ZeroDivisionError:
        raise CannotCalculate("it divides by zero") from None
    except OverflowError:
        raise CannotCalculate("a number in it is too large") from None
    except (TypeError, ValueError) as problem:
        raise problem if isinstance(problem, CannotCalculate) else CannotCalculate(f"{problem}") from None


def value_of(node):
    """The value of one part of the tree; whatever is not listed here is refused."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        # Through the text: 0.1 means one tenth, not the nearest binary fraction.
        return bounded(Fraction(str(bounded(node.value)) if type(node.value) is float else node.value))
    if isinstance(node, ast.Name) and node.id.lower() in CONSTANTS:
        return CONSTANTS[node.id.lower()]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = value_of(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = value_of(node.left), value_of(node.right)
        if isinstance(node.op, ast.Pow):
            return power(left, right)
        if type(node.op) in OPERATORS:
            return bounded(OPERATORS[type(node.op)](left, right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return bounded(apply(node.func.id.lower(), [value_of(argument) for argument in node.args]))
    raise CannotCalculate("only numbers, + - * / // % ^, brackets and functions such as sqrt are understood")


def apply(name, arguments):
    if name == "sqrt" and len(arguments) == 1:
        return square_root(arguments[0])
    if name == "factorial" and len(arguments) == 1:
        if not is_whole(arguments[0]) or not 0 <= arguments[0] <= FACTORIAL_MAX:
            raise CannotCalculate(f"factorial takes a whole number from 0 to {FACTORIAL_MAX}")
        return Fraction(math.factorial(int(arguments[0])))
    if name not in FUNCTIONS:
        raise CannotCalculate(f"there is no function {name!r}; known are sqrt, factorial, {', '.join(FUNCTIONS)}")
    if name == "round" and len(arguments) == 2:
        if not is_whole(arguments[1]) or abs(arguments[1]) > ROUND_DIGITS_MAX:
            raise CannotCalculate(f"round takes a whole number of digits up to {ROUND_DIGITS_MAX}")
        return round(arguments[0], int(arguments[1]))
    result = FUNCTIONS[name](*arguments)
    return Fraction(result) if type(result) is int else result


def square_root(value):
    if value < 0:
        raise CannotCalculate("the square root of a negative number is not a real number")
    if isinstance(value, Fraction):
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above * above == value.numerator and below * below == value.denominator:
            return Fraction(above, below)
    return math.sqrt(value)


def power(left, right):
    """Sizes are checked before the work, because the work is what must not happen."""
    if is_whole(right) and isinstance(left, Fraction):
        exponent = int(right)
        bits = max(left.numerator.bit_length(), left.denominator.bit_length())
        if abs(left) not in (0, 1) and bits * abs(exponent) > NUMBER_BITS_MAX * 2:
            raise CannotCalculate("the power is too large to write down")
        return bounded(left**exponent)
    result = float(left) ** float(right)
    if isinstance(result, complex):
        raise CannotCalculate("the result is not a real number")
    return bounded(result)


def divided(left, right):
    if right == 0:
        raise CannotCalculate("it divides by zero")
    return left / right


def bounded(value):
    """The value itself, unless it is too large to work with or no number."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CannotCalculate("a number in it is too large")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > NUMBER_BITS_MAX:
        raise CannotCalculate("a number in it is too large")
    return value


def is_whole(value):
    return value == value // 1


def plain(value):
    """An int where it is one (as text when it is large), else the nearest float."""
    if is_whole(value) and (not isinstance(value, float) or abs(value) < JSON_WHOLE_MAX):
        whole = int(value)
        return whole if abs(whole) <= JSON_WHOLE_MAX else str(whole)
    return float(value)
