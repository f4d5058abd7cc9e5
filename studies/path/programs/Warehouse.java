// A wholesale company in the memory of a Java virtual machine, like SPECjbb: customers order, pay and ask,
// orders are delivered and become history, and what is no longer needed is collected.
// Usage: java Warehouse TRANSACTIONS. Prints a checksum of the books.
import java.util.ArrayDeque;
import java.util.TreeMap;

public final class Warehouse {
    static final int CUSTOMERS = 8_000, ITEMS = 40_000, HISTORY = 12_000;

    static final class Customer {
        long balance, orders;
        final ArrayDeque<Order> open = new ArrayDeque<>();
        final byte[] data = new byte[300];
    }

    static final class Item {
        final int price;
        int stock = 100;
        final byte[] data = new byte[100];

        Item(int price) {
            this.price = price;
        }
    }

    static final class Line {
        final Item item;
        final int quantity;

        Line(Item item, int quantity) {
            this.item = item;
            this.quantity = quantity;
        }
    }

    static final class Order {
        final long number;
        final Customer customer;
        final Line[] lines;
        boolean delivered;

        Order(long number, Customer customer, Line[] lines) {
            this.number = number;
            this.customer = customer;
            this.lines = lines;
        }

        long total() {
            long sum = 0;
            for (Line line : lines) sum += (long) line.item.price * line.quantity;
            return sum;
        }
    }

    final Customer[] customers = new Customer[CUSTOMERS];
    final Item[] items = new Item[ITEMS];
    final TreeMap<Long, Order> orders = new TreeMap<>();
    final ArrayDeque<Order> undelivered = new ArrayDeque<>();
    long state = 1, next, books;

    int below(int end) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return (int) ((state >>> 33) % end);
    }

    Warehouse() {
        for (int i = 0; i < CUSTOMERS; i++) customers[i] = new Customer();
        for (int i = 0; i < ITEMS; i++) items[i] = new Item(1 + below(1000));
    }

    void order() {
        Line[] lines = new Line[5 + below(10)];
        for (int i = 0; i < lines.length; i++) {
            Item item = items[below(ITEMS)];
            lines[i] = new Line(item, 1 + below(9));
            item.stock -= lines[i].quantity;
            if (item.stock < 0) item.stock += 200;
        }
        Customer customer = customers[below(CUSTOMERS)];
        Order order = new Order(next++, customer, lines);
        orders.put(order.number, order);
        customer.open.add(order);
        customer.orders++;
        undelivered.add(order);
        if (orders.size() > HISTORY) {
            Order old = orders.pollFirstEntry().getValue();
            old.customer.open.remove(old);
        }
    }

    void deliver() {
        for (int i = 0; i < 5 && !undelivered.isEmpty(); i++) {
            Order order = undelivered.poll();
            order.delivered = true;
            order.customer.balance -= order.total();
            order.customer.open.remove(order);
        }
    }

    void pay() {
        long paid = 1 + below(5000);
        customers[below(CUSTOMERS)].balance += paid;
        books += paid;
    }

    void ask() {
        Customer customer = customers[below(CUSTOMERS)];
        Order last = customer.open.peekLast();
        if (last != null) books ^= last.total();
        Order any = orders.get(next - 1 - below(HISTORY / 2));
        if (any != null) books += any.lines.length;
    }

    public static void main(String[] arguments) {
        int transactions = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 60_000;
        Warehouse warehouse = new Warehouse();
        for (int i = 0; i < transactions; i++) {
            int kind = warehouse.below(20);
            if (kind < 9) warehouse.order();
            else if (kind < 17) warehouse.pay();
            else if (kind < 19) warehouse.ask();
            else warehouse.deliver();
        }
        long sum = warehouse.books;
        for (Customer customer : warehouse.customers) sum = sum * 31 + customer.balance + customer.orders;
        System.out.println("checksum " + sum);
    }
}
